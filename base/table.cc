#include "base/table.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace fathom {

namespace {

constexpr std::string_view kGap = "  ";
constexpr size_t kNarrowest = 8;  // a cut cell still says something
// Without a terminal nothing is cut, but one long name must not fill all other rows with blanks.
constexpr size_t kMostBlanks = 60;

}  // namespace

void Table::add(const std::vector<std::string>& cells) {
  assert(cells.size() == columns_.size());
  std::vector<std::string> row;
  for (const std::string& cell : cells) row.push_back(printable(cell));
  rows_.push_back(std::move(row));
}

std::vector<size_t> Table::widths(size_t max_width) const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t widest = display_width(columns_[i].title);
    for (const auto& row : rows_) widest = std::max(widest, display_width(row[i]));
    widths.push_back(max_width == 0 && columns_[i].may_shrink ? std::min(widest, kMostBlanks) : widest);
  }
  size_t total = std::accumulate(widths.begin(), widths.end(), kGap.size() * (columns_.size() - 1));
  // The widest that may shrink gives a column at a time, so that they end up even, and one long name does not push all
  // others off the screen.
  while (max_width > 0 && total > max_width) {
    size_t* widest = nullptr;
    for (size_t i = 0; i < columns_.size(); ++i) {
      bool can = columns_[i].may_shrink && widths[i] > kNarrowest;
      if (can && (widest == nullptr || widths[i] > *widest)) widest = &widths[i];
    }
    if (widest == nullptr) break;
    --*widest;
    --total;
  }
  return widths;
}

std::string Table::line(const std::vector<std::string>& cells, const std::vector<size_t>& widths, bool cut) const {
  std::string out;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out += kGap;
    out += pad_to_width(cut ? cut_to_width(cells[i], widths[i]) : cells[i], widths[i], columns_[i].align);
  }
  out.erase(out.find_last_not_of(' ') + 1);
  return out + "\n";
}

std::string Table::render(size_t max_width) const {
  std::vector<size_t> column_widths = widths(max_width);
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  bool cut = max_width > 0;
  std::string out = line(titles, column_widths, cut);
  for (const auto& row : rows_) out += line(row, column_widths, cut);
  return out;
}

}  // namespace fathom
