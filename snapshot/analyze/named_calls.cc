#include "snapshot/analyze/named_calls.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace fathom::snapshot {

namespace {

// Parents before children, in the order of appearance.
class Builder {
 public:
  Builder(const FunctionNames& functions, const ThreadNames& threads) : functions_(functions), threads_(threads) {
    rows_.push_back({});
    rows_[0].name = "all";
  }

  void add(const ThreadCalls& thread) {
    std::vector<uint32_t> places(thread.tree->size());
    places[0] = threads_ ? row(0, threads_(thread.key)) : 0;
    rows_[places[0]].self.add((*thread.tree)[0].stats);
    for (uint32_t i = 1; i < places.size(); ++i) {
      const CallNode& node = (*thread.tree)[i];
      places[i] = row(places[node.parent], name_of(*node.function));
      CallRow& row = rows_[places[i]];
      row.self.add(node.stats);
      row.function = node.function;
      if (row.called_from == 0) row.called_from = node.called_from;
      row.is_gap = node.function->gap != GapReason::kNone;
    }
  }

  NamedCalls finish() {
    for (CallRow& row : rows_) row.total = row.self;
    for (size_t i = rows_.size(); i-- > 1;) rows_[rows_[i].parent].total.add(rows_[i].total);
    return in_order();
  }

 private:
  uint32_t row(uint32_t parent, const std::string& name) {
    const uint32_t name_number = static_cast<uint32_t>(names_.try_emplace(name, names_.size()).first->second);
    auto [place, fresh] = places_.try_emplace({parent, name_number}, static_cast<uint32_t>(rows_.size()));
    if (fresh) {
      CallRow made;
      made.name = name;
      made.parent = parent;
      made.depth = rows_[parent].depth + 1;
      rows_.push_back(std::move(made));
    }
    return place->second;
  }

  const std::string& name_of(const CallFunction& function) {
    auto [name, fresh] = function_names_.try_emplace(&function);
    if (fresh) name->second = functions_(function);
    return name->second;
  }

  bool before(uint32_t a, uint32_t b) const {
    const uint64_t more = rows_[a].total.instructions, less = rows_[b].total.instructions;
    return more != less ? more > less : rows_[a].name < rows_[b].name;
  }

  NamedCalls in_order() {
    std::vector<std::vector<uint32_t>> children(rows_.size());
    for (uint32_t i = 1; i < rows_.size(); ++i) children[rows_[i].parent].push_back(i);
    for (auto& list : children) std::ranges::sort(list, [this](uint32_t a, uint32_t b) { return before(b, a); });
    NamedCalls calls;
    std::vector<std::pair<uint32_t, uint32_t>> open{{0, 0}};  // row, its parent's new number
    while (!open.empty()) {
      auto [from, parent] = open.back();
      open.pop_back();
      const auto number = static_cast<uint32_t>(calls.rows.size());
      calls.rows.push_back(std::move(rows_[from]));
      calls.rows.back().parent = parent;
      for (uint32_t child : children[from]) open.emplace_back(child, number);
    }
    for (size_t i = calls.rows.size(); i-- > 0;) {
      CallRow& row = calls.rows[i];
      row.end = std::max(row.end, static_cast<uint32_t>(i + 1));
      if (i > 0) calls.rows[row.parent].end = std::max(calls.rows[row.parent].end, row.end);
    }
    return calls;
  }

  const FunctionNames& functions_;
  const ThreadNames& threads_;
  std::vector<CallRow> rows_;
  std::unordered_map<std::string, size_t> names_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> places_;
  std::unordered_map<const CallFunction*, std::string> function_names_;
};

}  // namespace

NamedCalls name_calls(const std::vector<ThreadCalls>& threads, const FunctionNames& functions,
                      const ThreadNames& thread_names) {
  Builder builder(functions, thread_names);
  for (const ThreadCalls& thread : threads) builder.add(thread);
  return builder.finish();
}

std::vector<bool> greatest_rows(const NamedCalls& calls, uint64_t limit) {
  std::vector<bool> chosen(calls.rows.size(), limit == 0 || limit >= calls.rows.size());
  if (chosen.empty() || chosen[0]) return chosen;
  std::vector<uint32_t> order(calls.rows.size());
  std::iota(order.begin(), order.end(), 0);
  // Rows stand behind their parents, so equal ones are taken from the front.
  std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) {
    return calls.rows[a].total.instructions > calls.rows[b].total.instructions;
  });
  for (uint64_t i = 0; i < limit; ++i) chosen[order[i]] = true;
  return chosen;
}

}  // namespace fathom::snapshot
