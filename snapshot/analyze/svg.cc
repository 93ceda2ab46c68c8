#include "snapshot/analyze/svg.h"

#include <array>
#include <cstdint>
#include <cstdio>

#include "base/text.h"

namespace fathom::snapshot {
namespace {

// Tenths are enough, and keep a picture of thousands of pieces small.
std::string tenths(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  std::string_view shown(text);
  return std::string(shown.ends_with(".0") ? shown.substr(0, shown.size() - 2) : shown);
}

std::string attribute(std::string_view name, double value) {
  return " " + std::string(name) + "=\"" + tenths(value) + "\"";
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string name_colour(std::string_view name) {
  static constexpr std::array<std::string_view, 12> kColours = {"#8dd3c7", "#ffed6f", "#bebada", "#fb8072",
                                                                "#80b1d3", "#fdb462", "#b3de69", "#fccde5",
                                                                "#d9d9d9", "#bc80bd", "#ccebc5", "#e5c494"};
  uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  return std::string(kColours[(hash ^ hash >> 16) % kColours.size()]);
}

Svg::Svg(double width, double height) {
  out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\"" + attribute("width", width) + attribute("height", height) +
         " viewBox=\"0 0 " + tenths(width) + " " + tenths(height) + "\" font-family=\"sans-serif\">\n";
  out_ += "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
}

void Svg::rect(double x, double y, double width, double height, std::string_view fill, std::string_view title) {
  out_ += "<rect" + attribute("x", x) + attribute("y", y) + attribute("width", width) + attribute("height", height) +
          " fill=\"" + std::string(fill) + "\"";
  out_ += title.empty() ? "/>\n" : "><title>" + xml_text(title) + "</title></rect>\n";
}

void Svg::text(double x, double y, std::string_view words, double size, std::string_view anchor) {
  out_ += "<text" + attribute("x", x) + attribute("y", y) + attribute("font-size", size);
  if (anchor != "start") out_ += " text-anchor=\"" + std::string(anchor) + "\"";
  out_ += ">" + xml_text(words) + "</text>\n";
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view stroke) {
  out_ += "<line" + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) + attribute("y2", y2) +
          " stroke=\"" + std::string(stroke) + "\"/>\n";
}

std::string Svg::finish() && {
  out_ += "</svg>\n";
  return std::move(out_);
}

}  // namespace fathom::snapshot
