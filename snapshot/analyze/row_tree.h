// RowTree: rows that are found by their parent and their name, and put in the order in which a tree is written.
//
// Purpose: call trees of names: the same name below the same names is one row, and whoever writes the rows needs not
// recurse. A Row has `name`, `parent` and `depth`; the rest is its user's. Thread safety: a plain value. Errors: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
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

// Rows of a tree that is in order, chosen one by one; with a row, whoever it is below, so that it can be read and
// drawn.
template <typename Row>
class ChosenRows {
 public:
  ChosenRows(const std::vector<Row>& rows, uint64_t limit) : rows_(rows), chosen_(rows.size()), left_(limit) {}

  // Unless that were more rows than may be chosen, or than `most` in all.
  void choose(uint32_t row, uint64_t most = UINT64_MAX) {
    uint64_t missing = 0;
    each_missing(row, [&](uint32_t) { ++missing; });
    if (missing > left_ || taken_ + missing > most) return;
    left_ -= missing;
    taken_ += missing;
    each_missing(row, [&](uint32_t one) { chosen_[one] = true; });
  }
  bool full() const { return left_ == 0; }
  std::vector<bool> take() && { return std::move(chosen_); }

 private:
  template <typename Visit>
  void each_missing(uint32_t row, const Visit& visit) {
    for (uint32_t at = row; !chosen_[at]; at = rows_[at].parent) {
      visit(at);
      if (at == 0) return;
    }
  }

  const std::vector<Row>& rows_;
  std::vector<bool> chosen_;
  uint64_t left_;
  uint64_t taken_ = 0;
};

// Rows [begin, end) that are chosen before all others, until `most` rows are.
struct PreferredRows {
  uint32_t begin = 0;
  uint32_t end = 0;
  uint64_t most = 0;
};

// Which rows are the `limit` greatest (0: all) by `size_of(row)`, of those that are `wanted(row)`; the root, and
// whoever they are below, are chosen and count with them. Equal ones are taken from the front.
template <typename Row, typename SizeOf, typename Wanted>
std::vector<bool> greatest_rows(const std::vector<Row>& rows, uint64_t limit, SizeOf size_of, Wanted wanted,
                                PreferredRows preferred = {}) {
  std::vector<uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](uint32_t row) { return row != 0 && !wanted(rows[row]); });
  // The root first: it is there whatever its size.
  std::ranges::stable_sort(
      order, [&](uint32_t a, uint32_t b) { return a == 0 || b == 0 ? a < b : size_of(rows[a]) > size_of(rows[b]); });
  ChosenRows<Row> chosen(rows, limit == 0 ? rows.size() : limit);
  for (uint32_t row : order) {
    if (row >= preferred.begin && row < preferred.end) chosen.choose(row, preferred.most);
  }
  for (size_t i = 0; i < order.size() && !chosen.full(); ++i) chosen.choose(order[i]);
  return std::move(chosen).take();
}

}  // namespace fathom::snapshot
