// Svg: a picture of rectangles and words, which a browser shows and whose titles say the numbers.
//
// Thread safety: one thread per picture. Errors: none; what is no XML text is replaced. Units: pixels.
#pragma once

#include <string>
#include <string_view>

namespace fathom::snapshot {

class Svg {
 public:
  Svg(double width, double height);

  // `title` is shown when one points at it; empty: none. `fill` is a colour of CSS.
  void rect(double x, double y, double width, double height, std::string_view fill, std::string_view title = {});
  // `anchor`: start, middle, end.
  void text(double x, double y, std::string_view words, double size = 12, std::string_view anchor = "start");
  void line(double x1, double y1, double x2, double y2, std::string_view stroke = "#999");
  // Elements of one's own; xml_text() makes their words harmless.
  void raw(std::string_view element) { out_.append(element).push_back('\n'); }

  std::string finish() &&;

 private:
  std::string out_;
};

std::string xml_text(std::string_view text);
// A colour that is the same for the same name, light enough for dark words.
std::string name_colour(std::string_view name);

}  // namespace fathom::snapshot
