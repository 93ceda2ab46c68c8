#include "snapshot/analyze/icicle.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "base/text.h"

namespace fathom::snapshot {

namespace {

constexpr double kIcicleWidth = 1200;
constexpr double kRow = 18;
constexpr double kLetter = 6.6;
constexpr double kNarrowest = 0.1;
constexpr uint32_t kMostRows = 200;

constexpr double kSize = 900;
constexpr uint32_t kMostRings = 40;
constexpr double kThinnest = 0.0015;  // of a turn

std::string svg_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

struct Ring {
  double inner = 0, outer = 0;
};

std::string point(double radius, double turn) {
  const double angle = turn * 2 * std::numbers::pi - std::numbers::pi / 2;
  return svg_number(kSize / 2 + radius * std::cos(angle)) + " " + svg_number(kSize / 2 + radius * std::sin(angle));
}

// A whole turn is no arc for SVG: its end is its beginning.
std::string arc_path(Ring ring, double from, double to) {
  to = std::min(to, from + 0.99999);
  const std::string large = to - from > 0.5 ? "1" : "0";
  const std::string outer = svg_number(ring.outer), inner = svg_number(ring.inner);
  return "M" + point(ring.outer, from) + "A" + outer + " " + outer + " 0 " + large + " 1 " + point(ring.outer, to) +
         "L" + point(ring.inner, to) + "A" + inner + " " + inner + " 0 " + large + " 0 " + point(ring.inner, from) +
         "Z";
}

double whole(const std::vector<IciclePiece>& pieces) {
  return pieces.empty() ? 1 : std::max<double>(1, static_cast<double>(pieces[0].value));
}

uint32_t depth_of(const std::vector<IciclePiece>& pieces, double least, uint32_t most) {
  uint32_t depth = 0;
  for (const IciclePiece& piece : pieces) {
    if (static_cast<double>(piece.value) / whole(pieces) >= least) depth = std::max(depth, piece.depth);
  }
  return std::min(depth, most - 1);
}

}  // namespace

std::vector<uint64_t> piece_offsets(const std::vector<IciclePiece>& pieces) {
  std::vector<uint64_t> offsets(pieces.size());
  std::vector<uint64_t> next(pieces.size());  // where the next child begins
  for (size_t i = 1; i < pieces.size(); ++i) {
    offsets[i] = next[pieces[i].parent];
    next[i] = offsets[i];
    next[pieces[i].parent] += pieces[i].value;
  }
  return offsets;
}

std::string draw_icicle(const std::vector<IciclePiece>& pieces, std::string_view caption) {
  const double scale = kIcicleWidth / whole(pieces);
  const uint32_t depth = depth_of(pieces, kNarrowest / kIcicleWidth, kMostRows);
  Svg svg(kIcicleWidth, (depth + 1) * kRow + 26);
  const std::vector<uint64_t> offsets = piece_offsets(pieces);
  for (size_t i = 0; i < pieces.size(); ++i) {
    const IciclePiece& piece = pieces[i];
    const double width = static_cast<double>(piece.value) * scale;
    if (width < kNarrowest || piece.depth > depth) continue;
    const double x = static_cast<double>(offsets[i]) * scale, y = piece.depth * kRow;
    svg.rect(x, y, std::max(width - 0.5, kNarrowest), kRow - 1, piece.fill, piece.title);
    const auto letters = static_cast<size_t>(width / kLetter);
    if (letters >= 3) svg.text(x + 3, y + 13, cut_to_width(printable(piece.name), letters - 1), 11);
  }
  svg.text(3, (depth + 1) * kRow + 17, caption, 11);
  return std::move(svg).finish();
}

std::string draw_sunburst(const std::vector<IciclePiece>& pieces, std::string_view caption) {
  const uint32_t depth = depth_of(pieces, kThinnest, kMostRings);
  const double thickness = (kSize / 2 - 4) / (depth + 1);
  const std::vector<uint64_t> offsets = piece_offsets(pieces);
  Svg svg(kSize, kSize + 26);
  for (size_t i = 0; i < pieces.size(); ++i) {
    const IciclePiece& piece = pieces[i];
    const double share = static_cast<double>(piece.value) / whole(pieces);
    if (share < kThinnest || piece.depth > depth) continue;
    const double from = static_cast<double>(offsets[i]) / whole(pieces);
    const std::string path = arc_path({piece.depth * thickness, (piece.depth + 1) * thickness}, from, from + share);
    svg.raw("<path d=\"" + path + "\" fill=\"" + piece.fill + "\" stroke=\"#fff\" stroke-width=\"0.5\"><title>" +
            xml_text(piece.title) + "</title></path>");
  }
  svg.text(3, kSize + 17, caption, 11);
  return std::move(svg).finish();
}

}  // namespace fathom::snapshot
