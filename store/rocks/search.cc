#include "store/rocks/search.h"

#include "store/rocks/search_best.h"

namespace fathom::store {

Search::Search(Engine& engine, const Filter& filter, By by, SearchOrder order, size_t limit,
               const std::optional<Cursor>& cursor, QueryBudget& budget)
    : engine_(engine),
      filter_(filter),
      by_(by == By::kTrace ? By::kTrace : By::kSpan),
      once_(by == By::kSpanOfTrace),
      order_(order),
      limit_(limit),
      cursor_(cursor),
      budget_(budget),
      received_sequence_(cursor ? cursor->received_sequence : engine.received_sequence.load(std::memory_order_acquire)),
      as_of_sequence_(order == SearchOrder::kSlowest ? received_sequence_ : UINT64_MAX),
      view_(engine.views.get()),
      sealed_(engine.sealed(), view_, budget),
      traces_(sealed_, engine.catalogue, as_of_sequence_),
      matcher_(filter, engine.catalogue) {}

bool Search::Later::operator()(const Node& a, const Node& b) const {
  // At the same place a rest goes first: what it hides may come before the candidate.
  if (a.bound == b.bound) return a.kind == Kind::kCandidate && b.kind != Kind::kCandidate;
  return slower(b.bound, a.bound);
}

SortKey Search::rank(const SlowEntry& entry) const {
  SortKey key = entry.key();
  if (order_ == SearchOrder::kNewest) std::swap(key.duration_nano, key.start_unix_nano);
  return key;
}

SlowEntry Search::entry_of(const TraceId& id, const TraceSummary& summary) {
  return {summary.duration_nano,  summary.start_unix_nano, id,           SpanId{},
          summary.first_sequence, summary.root_operation,  summary.error};
}

SlowEntry Search::entry_of(const TraceId& id, const TraceBounds& bounds) {
  return {bounds.duration_nano(), bounds.start_unix_nano, id, SpanId{}, bounds.first_sequence, 0, false};
}

SlowEntry Search::entry_of(const Generation& generation, const Generation::Row& row) {
  return {row.duration_nano,
          row.start_unix_nano,
          generation.traces()[row.trace].id,
          generation.stored(row).span_id,
          generation.sequence(row),
          row.operation,
          row.error};
}

SlowEntry Search::entry_of(const TraceId& id, const BlockIds& ids, const BlockTimes& times, uint32_t row) {
  return {times.duration_nano[row], times.start_unix_nano[row], id, ids.span[row], times.sequence[row],
          times.operation[row],     times.error[row] != 0};
}

SortKey Search::floor_bound(uint64_t duration_nano) {
  return {duration_nano, 0, TraceId{}, SpanId{}};
}

SortKey Search::first_possible() const {
  if (cursor_) return cursor_->last;
  return floor_bound(order_ == SearchOrder::kSlowest ? filter_.max_duration_nano : UINT64_MAX);
}

bool Search::in_bounds(const SlowEntry& entry) const {
  return fits(entry) && is_of_this_page(entry);
}

bool Search::fits(const SlowEntry& entry) const {
  if (!filter_.range.contains(entry.start_unix_nano)) return false;
  if (entry.duration_nano < filter_.min_duration_nano || entry.duration_nano > filter_.max_duration_nano) return false;
  return entry.first_sequence <= received_sequence_;
}

void Search::push_candidate(const SlowEntry& entry, bool check, GrownPtr grown) {
  if (!in_bounds(entry)) return remember_shown(entry);
  Node node;
  node.bound = rank(entry);
  node.entry = entry;
  node.check = check;
  node.grown = std::move(grown);
  unpaid_bytes_ += 2 * sizeof(Node);  // a heap that grows has room for twice as many
  heap_.push(std::move(node));
}

Result<SlowPage> Search::run() {
  if (limit_ == 0 || !matcher_.possible()) return SlowPage{};
  if (Result<> begun = begin(); !begun) return begun.error();
  while (!heap_.empty() && page_.rows.size() <= limit_) {
    if (Result<> alive = budget_.spend(std::exchange(unpaid_bytes_, 0)); !alive) return alive.error();
    Node node = heap_.top();
    heap_.pop();
    Result<> done = step(node);
    // What retention dropped while this query ran is no longer part of the answer.
    if (!done && done.error().code != ErrorCode::kNotFound) return done.error();
  }
  if (page_.rows.size() > limit_) {
    page_.rows.pop_back();
    const SlowRow& last = page_.rows.back();
    page_.next =
        Cursor{received_sequence_,
               {last.duration_nano, last.start_unix_nano, last.trace_id, by_ == By::kSpan ? last.span_id : SpanId{}}};
  }
  return std::move(page_);
}

Result<> Search::begin() {
  if (filter_.traces) return begin_named();
  Node memory;
  memory.kind = Kind::kMemoryScan;
  memory.bound = first_possible();
  heap_.push(std::move(memory));
  if (by_ == By::kTrace) {
    push_corrected();
    if (Result<> pushed = push_oversized(); !pushed) return pushed;
    if (Result<> pushed = push_grown(); !pushed) return pushed;
  }
  if (order_ == SearchOrder::kSlowest && matcher_.lists_apply()) return begin_lists();
  Node blocks;
  blocks.kind = Kind::kBlockScan;
  blocks.bound = first_possible();
  blocks.ranges = {filter_.range};
  heap_.push(std::move(blocks));
  return {};
}

Result<> Search::step(const Node& node) {
  switch (node.kind) {
    case Kind::kCandidate:
      return consider(node);
    case Kind::kHourRest:
      return expand_hour(node);
    case Kind::kMinuteRest:
      return expand_minutes(node);
    case Kind::kBlockScan:
      return scan_blocks(node);
    case Kind::kMemoryScan:
      return scan_memory(node);
    case Kind::kNamedScan:
      return scan_named(node);
    case Kind::kCorrectedScan:
      return scan_corrected(node);
    case Kind::kCorrectedRowScan:
      return scan_corrected_rows(node);
  }
  return {};
}

Result<> Search::consider(const Node& node) {
  return by_ == By::kTrace ? consider_trace(node) : consider_span(node);
}

Result<> Search::consider_trace(const Node& node) {
  if (seen_.contains(node.entry.trace_id)) return {};
  Result<bool> may_match = older_may_match(node);
  if (!may_match) return may_match.error();
  if (!*may_match) return {};
  Result<std::optional<TraceSummary>> found = traces_.summary(node.entry.trace_id);
  if (!found) return found.error();
  if (!*found) return {};  // dropped meanwhile
  const TraceSummary& truth = **found;
  SlowEntry now = node.entry;
  now.start_unix_nano = truth.start_unix_nano;
  now.duration_nano = truth.duration_nano;
  now.first_sequence = truth.first_sequence;
  if (now.key() != node.entry.key()) {
    // An outdated candidate. The trace's true place comes from its newest part, unless it lies outside the question.
    if (!in_bounds(now)) return {};
    if (slower(rank(node.entry), rank(now))) {
      push_candidate(now, node.check);
      return {};
    }
    // It grew while this query ran: it stays where it was when the query began.
  }
  Result<bool> check = must_be_matched(node);
  if (!check) return check.error();
  if (*check) {
    Result<bool> matches = trace_matches(node.entry.trace_id);
    if (!matches) return matches.error();
    if (!*matches) return {};
  }
  seen_.insert(node.entry.trace_id);
  emit(node.entry, truth);
  return {};
}

Result<> Search::consider_span(const Node& node) {
  // Rows come out in order, so one that is not behind the last has been emitted: lists and scans overlap.
  if (last_emitted_ && !slower(*last_emitted_, node.bound)) {
    // Spans equal in all that orders them are one row, and an error of any of them is an error of the row.
    if (*last_emitted_ == node.bound) join_equal(node.entry);
    return {};
  }
  if (once_) {
    Result<bool> shown = was_shown(node.entry.trace_id);
    if (!shown) return shown.error();
    if (*shown) return {};
    seen_.insert(node.entry.trace_id);
  }
  Result<const TraceSummary*> summary = summary_for_spans(node.entry.trace_id);
  if (!summary) return summary.error();
  if (*summary == nullptr) return {};
  last_emitted_ = node.bound;
  last_received_ = {node.entry.first_sequence, node.entry.operation};
  emit(node.entry, **summary);
  return {};
}

// A page may hold a thousand spans of one trace, and a trace a hundred thousand spans. Null: dropped meanwhile.
Result<const TraceSummary*> Search::summary_for_spans(const TraceId& id) {
  auto found = summaries_.find(id);
  if (found != summaries_.end()) return &found->second;
  Result<std::optional<TraceSummary>> summary = traces_.summary(id);
  if (!summary) return summary.error();
  if (!*summary) return nullptr;
  return &summaries_.emplace(id, **summary).first->second;
}

// The earliest reception names the row; of one batch's, the operation received first.
void Search::join_equal(const SlowEntry& entry) {
  SlowRow& row = page_.rows.back();
  row.error |= entry.error;
  std::pair received(entry.first_sequence, entry.operation);
  if (received >= last_received_) return;
  last_received_ = received;
  const OperationKey& operation = engine_.catalogue.operation(entry.operation);
  row.service = operation.service;
  row.operation = operation.operation;
}

// Lists and blocks know that a trace matches, but not whether by rows that retention took away or that came later.
Result<bool> Search::must_be_matched(const Node& node) {
  if (matcher_.everything()) return false;
  if (node.check || view_->corrections->may_contain(node.entry.trace_id)) return true;
  if (engine_.oversized.contains(node.entry.trace_id)) return true;
  return traces_.grew_later(node.entry.trace_id);
}

Result<bool> Search::trace_matches(const TraceId& id) {
  for (const auto& generation : view_->generations) {
    auto lock = generation->read();
    const Generation::Trace* trace = generation->find(id);
    if (trace != nullptr && matcher_.any_row(*generation, *trace, as_of_sequence_)) return true;
  }
  bool matches = false;
  size_t parts = 0;
  Result<> visited = sealed_.visit_parts(id, [&](const TracePart& part) -> Result<bool> {
    Result<bool> matched = part_matches(id, part);
    if (!matched) return matched;
    if (++parts > kPartsKeptOpen) sealed_.close(part.segment);
    matches = *matched;
    return !matches;
  });
  if (!visited) return visited.error();
  return matches;
}

Result<bool> Search::part_matches(const TraceId& id, const TracePart& part) {
  Result<LocatedPart> located = sealed_.locate(id, part);
  if (!located) return located.error();
  SegmentReader& reader = *located->reader;
  SegmentInfoPtr info = view_->segment(part.segment);
  bool later_rows = info && info->last_sequence > as_of_sequence_;
  for (const RowRange& range : located->ranges) {
    Result<const std::vector<uint32_t>*> rows = matcher_.remembered_rows(reader, part.segment, range.block);
    if (!rows) return rows.error();
    auto row = std::lower_bound((*rows)->begin(), (*rows)->end(), range.first_row);
    auto end = std::lower_bound(row, (*rows)->end(), range.first_row + range.row_count);
    if (row == end) continue;
    if (!later_rows) return true;
    Result<BlockTimes> times = reader.times(range.block);
    if (!times) return times.error();
    if (times->sequence.size() <= *(end - 1)) return corrupt("a block's columns disagree");
    if (std::any_of(row, end, [&](uint32_t at) { return times->sequence[at] <= as_of_sequence_; })) return true;
  }
  return false;
}

void Search::emit(const SlowEntry& entry, const TraceSummary& summary) {
  bool by_span = by_ == By::kSpan;
  const OperationKey& operation = engine_.catalogue.operation(by_span ? entry.operation : summary.root_operation);
  SlowRow row;
  row.trace_id = entry.trace_id;
  row.span_id = by_span ? entry.span_id : summary.root_span_id;
  row.service = operation.service;
  row.operation = operation.operation;
  row.start_unix_nano = entry.start_unix_nano;
  row.duration_nano = entry.duration_nano;
  row.root_duration_nano = summary.root_duration_nano;
  row.complete = summary.complete;
  row.oversized = summary.oversized;
  row.error = by_span ? entry.error : summary.error;
  row.spans = summary.spans;
  page_.rows.push_back(std::move(row));
}

}  // namespace fathom::store
