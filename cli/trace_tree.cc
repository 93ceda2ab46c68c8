#include "cli/trace_tree.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "cli/api.h"

namespace fathom::cli {

namespace {

bool is_no_id(const std::string& id) {
  return id.find_first_not_of('0') == std::string::npos;
}

TreeSpan read_span(const boost::json::value& source) {
  TreeSpan span;
  span.span_id = text_of(source, "span_id");
  span.parent_span_id = text_of(source, "parent_span_id");
  if (is_no_id(span.parent_span_id)) span.parent_span_id.clear();
  span.service = text_of(source, "service");
  span.operation = text_of(source, "operation");
  span.name = text_of(source, "name");
  span.kind = text_of(source, "kind");
  span.status = text_of(source, "status");
  bool corrected = !member_of(source, "corrected_start_time_unix_nano").is_null();
  span.start_unix_nano = number_of(source, corrected ? "corrected_start_time_unix_nano" : "start_time_unix_nano");
  span.duration_nano = number_of(source, "duration_nano");
  span.conflicting = flag_of(source, "conflicting");
  span.source = &source;
  return span;
}

// Lays the spans out; holds what only that needs.
class Layout {
 public:
  explicit Layout(TraceTree& tree) : tree_(tree), children_(tree.spans.size()), placed_(tree.spans.size()) {}

  void run() {
    link();
    place_tops();
    place_cycles();
    mark_last_siblings();
  }

 private:
  // A line to come: a span, or with `kind` the line above a group of spans.
  struct Top {
    LineKind kind;
    std::vector<size_t> spans;
    uint64_t start_unix_nano;
  };

  void link() {
    std::unordered_map<std::string, size_t> by_id;
    for (size_t i = 0; i < tree_.spans.size(); ++i) by_id.try_emplace(tree_.spans[i].span_id, i);
    std::map<std::string, Top> missing;
    for (size_t i = 0; i < tree_.spans.size(); ++i) {
      const TreeSpan& span = tree_.spans[i];
      auto parent = by_id.find(span.parent_span_id);
      if (span.parent_span_id.empty()) {
        tops_.push_back({LineKind::kSpan, {i}, span.start_unix_nano});
      } else if (parent != by_id.end()) {
        children_[parent->second].push_back(i);
      } else {
        auto [group, added] =
            missing.try_emplace(span.parent_span_id, Top{LineKind::kMissingParent, {}, span.start_unix_nano});
        group->second.spans.push_back(i);
      }
    }
    for (auto& [id, group] : missing) tops_.push_back(std::move(group));
  }

  void place_tops() {
    std::stable_sort(tops_.begin(), tops_.end(),
                     [](const Top& a, const Top& b) { return a.start_unix_nano < b.start_unix_nano; });
    for (const Top& top : tops_) place(top);
  }

  // What no root reaches goes in circles; the earliest of each circle stands first.
  void place_cycles() {
    for (size_t i = 0; i < tree_.spans.size(); ++i) {
      if (!placed_[i]) place({LineKind::kCycle, {i}, tree_.spans[i].start_unix_nano});
    }
  }

  void place(const Top& top) {
    size_t above = TreeLine::kNone;
    if (top.kind != LineKind::kSpan) {
      above = tree_.lines.size();
      tree_.lines.push_back({top.kind, top.spans.front(), TreeLine::kNone, 0, true});
    }
    push(top.spans, above);
    while (!waiting_.empty()) place_next();
  }

  void push(const std::vector<size_t>& spans, size_t above) {
    for (auto span = spans.rbegin(); span != spans.rend(); ++span) waiting_.push_back({*span, above});
  }

  void place_next() {
    auto [span, above] = waiting_.back();
    waiting_.pop_back();
    if (placed_[span]) return;  // the circle closes here
    placed_[span] = true;
    uint32_t depth = above == TreeLine::kNone ? 0 : tree_.lines[above].depth + 1;
    size_t line = tree_.lines.size();
    tree_.lines.push_back({LineKind::kSpan, span, above, depth, false});
    push(children_[span], line);
  }

  void mark_last_siblings() {
    std::vector<bool> seen(tree_.lines.size());
    for (size_t i = tree_.lines.size(); i-- > 0;) {
      TreeLine& line = tree_.lines[i];
      line.last_sibling = line.above == TreeLine::kNone || !seen[line.above];
      if (line.above != TreeLine::kNone) seen[line.above] = true;
    }
  }

  TraceTree& tree_;
  std::vector<std::vector<size_t>> children_;
  std::vector<bool> placed_;
  std::vector<Top> tops_;
  std::vector<std::pair<size_t, size_t>> waiting_;  // (span, the line above)
};

void measure(TraceTree& tree) {
  if (tree.spans.empty()) return;
  uint64_t end = 0;
  for (const TreeSpan& span : tree.spans) end = std::max(end, span.end_unix_nano());
  tree.start_unix_nano = tree.spans.front().start_unix_nano;
  tree.duration_nano = end - tree.start_unix_nano;
}

}  // namespace

uint64_t TreeSpan::end_unix_nano() const {
  return start_unix_nano + std::min(duration_nano, UINT64_MAX - start_unix_nano);
}

TraceTree build_trace_tree(const boost::json::value& trace) {
  TraceTree tree;
  tree.document = &trace;
  tree.trace_id = text_of(trace, "trace_id");
  tree.complete = flag_of(trace, "complete");
  tree.oversized = flag_of(trace, "oversized");
  for (const boost::json::value& span : array_of(trace, "spans")) tree.spans.push_back(read_span(span));
  std::stable_sort(tree.spans.begin(), tree.spans.end(), [](const TreeSpan& a, const TreeSpan& b) {
    return std::tie(a.start_unix_nano, a.span_id) < std::tie(b.start_unix_nano, b.span_id);
  });
  measure(tree);
  Layout(tree).run();
  return tree;
}

}  // namespace fathom::cli
