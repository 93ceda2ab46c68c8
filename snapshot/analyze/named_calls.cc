#include "snapshot/analyze/named_calls.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "snapshot/analyze/row_tree.h"

namespace fathom::snapshot {

namespace {

uint64_t rank_size(const CallRow& row, CallRank rank) {
  return rank == CallRank::kTime ? row.total.elapsed_ticks() : row.total.instructions;
}

std::pair<uint64_t, uint64_t> ranked(const CallRow& row, CallRank rank) {
  return {rank_size(row, rank), row.total.instructions};
}

// Of the first of `foremost` the greatest; 0 of all others.
uint32_t precedence_of(const std::vector<int32_t>& foremost, int32_t tid) {
  return static_cast<uint32_t>(foremost.end() - std::ranges::find(foremost, tid));
}

class Builder {
 public:
  Builder(const FunctionNames& functions, const ThreadNames& threads, const std::vector<int32_t>& foremost)
      : functions_(functions), threads_(threads), foremost_(foremost) {}

  void add(const ThreadCalls& thread) {
    std::vector<uint32_t> places(thread.tree->size());
    places[0] = threads_ ? tree_.child(0, threads_(thread.key)) : 0;
    tree_[places[0]].self.add((*thread.tree)[0].stats);
    if (threads_) tree_[places[0]].precedence = precedence_of(foremost_, thread.key.tid);
    for (uint32_t i = 1; i < places.size(); ++i) {
      const CallNode& node = (*thread.tree)[i];
      places[i] = tree_.child(places[node.parent], name_of(*node.function));
      CallRow& row = tree_[places[i]];
      row.self.add(node.stats);
      row.function = node.function;
      if (row.called_from == 0) row.called_from = node.called_from;
      if (node.seen_at != 0) row.seen_at = node.seen_at;
      row.is_gap = node.function->gap != GapReason::kNone;
    }
  }

  NamedCalls finish(CallRank rank) {
    std::vector<CallRow>& rows = tree_.rows();
    for (CallRow& row : rows) row.total = row.self;
    for (size_t i = rows.size(); i-- > 1;) rows[rows[i].parent].total.add(rows[i].total);
    if (rows[0].total.elapsed_ticks() == 0) rank = CallRank::kInstructions;
    const auto place_of = [rank](const CallRow& row) { return std::pair(row.precedence, ranked(row, rank)); };
    NamedCalls calls{std::move(tree_).in_order(place_of), rank};
    set_ends(calls.rows);
    return calls;
  }

 private:
  const std::string& name_of(const CallFunction& function) {
    auto [name, fresh] = function_names_.try_emplace(&function);
    if (fresh) name->second = functions_(function);
    return name->second;
  }

  static void set_ends(std::vector<CallRow>& rows) {
    for (size_t i = rows.size(); i-- > 0;) {
      rows[i].end = std::max(rows[i].end, static_cast<uint32_t>(i + 1));
      if (i > 0) rows[rows[i].parent].end = std::max(rows[rows[i].parent].end, rows[i].end);
    }
  }

  const FunctionNames& functions_;
  const ThreadNames& threads_;
  const std::vector<int32_t>& foremost_;
  RowTree<CallRow> tree_;
  std::unordered_map<const CallFunction*, std::string> function_names_;
};

}  // namespace

NamedCalls name_calls(const std::vector<ThreadCalls>& threads, const FunctionNames& functions,
                      const ThreadNames& thread_names, const std::vector<int32_t>& foremost, CallRank rank) {
  Builder builder(functions, thread_names, foremost);
  for (const ThreadCalls& thread : threads) builder.add(thread);
  return builder.finish(rank);
}

uint64_t NamedCalls::size(const CallRow& row) const {
  return rank_size(row, rank);
}

std::vector<bool> greatest_rows(const NamedCalls& calls, uint64_t limit) {
  const auto any = [](const CallRow&) { return true; };
  const auto size_of_row = [&](const CallRow& row) { return ranked(row, calls.rank); };
  const bool has_foremost = calls.rows.size() > 1 && calls.rows[1].precedence > 0;
  const PreferredRows preferred = has_foremost ? PreferredRows{1, calls.rows[1].end, limit / 2} : PreferredRows{};
  return greatest_rows(calls.rows, limit, size_of_row, any, preferred);
}

}  // namespace fathom::snapshot
