// A table of text: columns aligned by terminal width, cells made harmless; in columns that may shrink, long
// ones are cut.
#pragma once

#include <string>
#include <vector>

#include "base/text.h"

namespace fathom {

struct Column {
  std::string title;
  Align align = Align::kLeft;
  bool may_shrink = false;  // on a terminal that is too narrow for all of it
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // As many cells as columns; they are passed through printable().
  void add(const std::vector<std::string>& cells);
  bool empty() const { return rows_.empty(); }
  // One line per row, no blanks at the ends. `max_width` 0: no terminal, lines may be of any length.
  std::string render(size_t max_width) const;

 private:
  std::vector<size_t> widths(size_t max_width) const;
  std::string line(const std::vector<std::string>& cells, const std::vector<size_t>& widths, bool cut) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace fathom
