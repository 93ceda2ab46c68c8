#include "bench/tracers/plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

namespace fathom::bench::tracers {

namespace {

constexpr double kWidth = 860, kLeft = 190, kRight = 70, kRow = 30, kBar = 11, kTitle = 44, kFoot = 34;
constexpr double kLeast = 0.1, kMost = 100'000;  // ns
constexpr const char* kHere = "#1f6f8b";
constexpr const char* kSurvey = "#c9a227";

std::string escaped(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '&')
      out += "&amp;";
    else if (letter == '<')
      out += "&lt;";
    else
      out += letter;
  }
  return out;
}

double x_of(double nano) {
  const double share = std::log10(std::clamp(nano, kLeast, kMost) / kLeast) / std::log10(kMost / kLeast);
  return kLeft + share * (kWidth - kLeft - kRight);
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 10 ? "%.1f" : "%.0f", value);
  return text;
}

std::string text_at(double x, double y, const std::string& text, const char* more = "") {
  char begin[160];
  std::snprintf(begin, sizeof begin, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, more);
  return begin + escaped(text) + "</text>\n";
}

std::string rectangle(double x, double y, double width, double height, const char* fill) {
  char text[160];
  std::snprintf(text, sizeof text, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", x, y,
                std::max(width, 0.0), height, fill);
  return text;
}

std::string bar_at(double y, double nano, const char* fill) {
  if (nano <= 0) return "";
  return rectangle(kLeft, y, x_of(nano) - kLeft, kBar, fill) +
         text_at(x_of(nano) + 4, y + kBar - 2, number(nano), "font-size=\"10\"");
}

std::string grid(double top, double bottom) {
  std::string out;
  for (double nano = kLeast; nano <= kMost * 1.01; nano *= 10) {
    out += rectangle(x_of(nano), top, 0.6, bottom - top, "#d0d0d0");
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", nano);
    out += text_at(x_of(nano), bottom + 13, text, "font-size=\"10\" text-anchor=\"middle\" fill=\"#666\"");
  }
  return out;
}

double height_of(const Panel& panel) {
  return kTitle + kRow * static_cast<double>(panel.bars.size()) + kFoot;
}

std::string panel_at(double top, const Panel& panel) {
  std::string out = text_at(12, top + 24, panel.title, "font-size=\"14\" font-weight=\"bold\"");
  double y = top + kTitle;
  out += grid(y - 6, top + height_of(panel) - kFoot);
  for (const Bar& bar : panel.bars) {
    out += text_at(kLeft - 8, y + kBar + 3, bar.label, "font-size=\"12\" text-anchor=\"end\"");
    out += bar_at(y, bar.here, kHere) + bar_at(y + kBar + 1, bar.survey, kSurvey);
    y += kRow;
  }
  return out;
}

std::string legend(double y, const std::string& caption) {
  return rectangle(12, y, 12, 12, kHere) + text_at(28, y + 11, "here, loop median", "font-size=\"12\"") +
         rectangle(160, y, 12, 12, kSurvey) +
         text_at(176, y + 11, "the survey's average (2018, Core i7-3770)", "font-size=\"12\"") +
         text_at(12, y + 30, caption, "font-size=\"11\" fill=\"#666\"");
}

}  // namespace

std::string svg_of(const std::vector<Panel>& panels, const std::string& caption) {
  std::string body;
  double y = 0;
  for (const Panel& panel : panels) {
    body += panel_at(y, panel);
    y += height_of(panel);
  }
  body += legend(y + 6, caption);
  char begin[256];
  std::snprintf(begin, sizeof begin,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                "font-family=\"sans-serif\">\n",
                kWidth, y + 48);
  return begin + rectangle(0, 0, kWidth, y + 48, "#ffffff") + body + "</svg>\n";
}

Result<> write_plot(const std::string& path, const std::vector<Panel>& panels, const std::string& caption) {
  std::ofstream file(path);
  file << svg_of(panels, caption);
  file.close();
  if (!file) return unavailable("cannot write " + path);
  return {};
}

}  // namespace fathom::bench::tracers
