// RowTree: rows that are found by their parent and their name, and put in the order in which a tree is written.
//
// Purpose: call trees of names: the same name below the same names is one row, and whoever writes the rows needs not
// recurse. A Row has `name`, `parent` and `depth`; the rest is its user's. Thread safety: a plain value. Errors: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fathom::snapshot {

template <typename Row>
class RowTree {
 public:
  // With one row, the root: everything.
  RowTree() { rows_.emplace_back().name = "all"; }

  // The row of that name below `parent`, made where there was none.
  uint32_t child(uint32_t parent, const std::string& name) {
    const auto name_number = static_cast<uint32_t>(names_.try_emplace(name, names_.size()).first->second);
    auto [place, fresh] = places_.try_emplace({parent, name_number}, static_cast<uint32_t>(rows_.size()));
    if (fresh) {
      Row row;
      row.name = name;
      row.parent = parent;
      row.depth = rows_[parent].depth + 1;
      rows_.push_back(std::move(row));
    }
    return place->second;
  }

  // Parents before children, in the order of appearance.
  std::vector<Row>& rows() { return rows_; }
  Row& operator[](uint32_t row) { return rows_[row]; }

  // Depth-first, parents renumbered; children by `size_of(row)`, the greatest first, equal ones by name. Takes the rows
  // out of the tree.
  template <typename SizeOf>
  std::vector<Row> in_order(SizeOf size_of) && {
    const auto lists = children([&](const Row& a, const Row& b) {
      const auto size = size_of(a), other = size_of(b);
      return size != other ? size > other : a.name < b.name;
    });
    std::vector<Row> ordered;
    ordered.reserve(rows_.size());
    std::vector<std::pair<uint32_t, uint32_t>> open{{0, 0}};  // row, its parent's new number
    while (!open.empty()) {
      const auto [from, parent] = open.back();
      open.pop_back();
      const auto number = static_cast<uint32_t>(ordered.size());
      ordered.push_back(std::move(rows_[from]));
      ordered.back().parent = parent;
      for (uint32_t child : lists[from]) open.emplace_back(child, number);
    }
    return ordered;
  }

 private:
  // Of each row the last one first, as a stack wants them.
  template <typename Before>
  std::vector<std::vector<uint32_t>> children(Before before) const {
    std::vector<std::vector<uint32_t>> lists(rows_.size());
    for (uint32_t i = 1; i < rows_.size(); ++i) lists[rows_[i].parent].push_back(i);
    for (auto& list : lists) {
      std::ranges::sort(list, [&](uint32_t a, uint32_t b) { return before(rows_[b], rows_[a]); });
    }
    return lists;
  }

  std::vector<Row> rows_;
  std::unordered_map<std::string, size_t> names_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> places_;  // parent, name
};

}  // namespace fathom::snapshot
