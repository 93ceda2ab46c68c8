#include "bench/tracers/plot.h"

#include <gtest/gtest.h>

#include <fstream>

namespace fathom::bench::tracers {
namespace {

size_t count_of(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(Plot, HasABarForEveryFigureThatThereIs) {
  const std::string svg =
      svg_of({{"events", {{"none", 0.3, 17}, {"ours", 10.2, 0}}}, {"calls", {{"none", 180, 63}}}}, "a machine");
  EXPECT_EQ(svg.find("<svg "), 0);
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
  EXPECT_EQ(count_of(svg, "#1f6f8b"), 3 + 1);  // and the legend's
  EXPECT_EQ(count_of(svg, "#c9a227"), 2 + 1);
  EXPECT_NE(svg.find(">a machine<"), std::string::npos);
}

TEST(Plot, EscapesTextsAndStaysInsideForAnyFigure) {
  const std::string svg = svg_of({{"<a & b>", {{"tiny", 1e-9, 1e12}, {"negative", -4, 0}}}}, "");
  EXPECT_NE(svg.find("&lt;a &amp; b>"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("width=\"-"), std::string::npos);
}

TEST(Plot, SaysWhereItCannotBeWritten) {
  const std::string path = testing::TempDir() + "/plot_test.svg";
  ASSERT_TRUE(write_plot(path, {{"events", {{"none", 1, 1}}}}, "").ok());
  EXPECT_TRUE(std::ifstream(path).good());
  EXPECT_FALSE(write_plot(testing::TempDir() + "/no/such/folder.svg", {}, "").ok());
}

}  // namespace
}  // namespace fathom::bench::tracers
