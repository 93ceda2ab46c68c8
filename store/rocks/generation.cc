#include "store/rocks/generation.h"

#include <algorithm>
#include <mutex>

namespace fathom::store {

namespace {

void add_older(Generation::Trace& trace, const TraceExtent& older) {
  trace.grown = true;
  trace.older = {older.start_unix_nano, older.end_unix_nano, older.first_sequence};
  trace.start_unix_nano = std::min(trace.start_unix_nano, older.start_unix_nano);
  trace.end_unix_nano = std::max(trace.end_unix_nano, older.end_unix_nano);
  trace.first_sequence = std::min(trace.first_sequence, older.first_sequence);
  trace.oldest_partition = older.oldest_partition;
  trace.oversized = older.oversized;
  trace.lookup_failed = older.lookup_failed;
}

bool is_large(const Generation::Trace& trace) {
  constexpr uint32_t kLargeTraceRows = 4096;
  return trace.oversized || trace.row_count >= kLargeTraceRows;
}

}  // namespace

Generation::Generation(uint32_t partition, size_t expected_rows) : partition_(partition) {
  rows_.reserve(expected_rows);
}

std::shared_lock<WriterFirstMutex> Generation::read() const {
  if (frozen_.load(std::memory_order_acquire)) return {};
  return std::shared_lock(mutex_);
}

void Generation::insert(BatchPtr batch, uint64_t sequence, uint64_t received_unix_nano,
                        std::span<const uint32_t> operations, const OlderTraces& older) {
  std::unique_lock lock(mutex_);
  uint32_t source = static_cast<uint32_t>(sources_.size());
  const size_t first_row = rows_.size();
  for (uint32_t i = 0; i < batch->rows().size(); ++i) {
    const Batch::Row& stored = batch->rows()[i];
    uint64_t start = corrected_unix_nano(stored.start_unix_nano, batch->clock());
    uint64_t duration =
        stored.end_unix_nano > stored.start_unix_nano ? stored.end_unix_nano - stored.start_unix_nano : 0;
    bool error = stored.status == StatusCode::kError;
    uint32_t trace = trace_for(stored.trace_id, start, end_of(start, duration), sequence, older);
    rows_.push_back({start, duration, source, i, trace, kNone, operations[i], error});
    link(trace, static_cast<uint32_t>(rows_.size() - 1));
    min_start_ = std::min(min_start_, traces_[trace].oversized ? start : traces_[trace].start_unix_nano);
    max_start_ = std::max(max_start_, start);
  }
  encoded_bytes_.fetch_add(batch->encoded().size(), std::memory_order_relaxed);
  memory_bytes_.fetch_add(batch->memory_bytes() + batch->rows().size() * (sizeof(Row) + 8), std::memory_order_relaxed);
  sources_.push_back({std::move(batch), sequence, received_unix_nano});
  update_large_traces(first_row);
  row_count_.store(rows_.size(), std::memory_order_release);
}

void Generation::look_up_new_traces(const Batch& batch, const FindOlderTrace& find_older, OlderTraces& older) const {
  for (const Batch::Row& row : batch.rows()) {
    if (trace_index_.contains(row.trace_id)) continue;
    auto [found, is_new] = older.try_emplace(row.trace_id);
    if (is_new) found->second = find_older(row.trace_id);
  }
}

uint32_t Generation::trace_for(const TraceId& id, uint64_t start, uint64_t end, uint64_t sequence,
                               const OlderTraces& older) {
  auto [found, inserted] = trace_index_.try_emplace(id, static_cast<uint32_t>(traces_.size()));
  if (inserted) {
    Trace trace{id, start, end, sequence, kNone, kNone, 0, false, UINT32_MAX, false, false, {}};
    if (const std::optional<TraceExtent>& known = older.at(id)) add_older(trace, *known);
    if (trace.lookup_failed) failed_lookups_.push_back(id);
    traces_.push_back(trace);
    memory_bytes_.fetch_add(sizeof(Trace) + sizeof(std::pair<TraceId, uint32_t>) * 2, std::memory_order_relaxed);
    return found->second;
  }
  Trace& trace = traces_[found->second];
  trace.start_unix_nano = std::min(trace.start_unix_nano, start);
  trace.end_unix_nano = std::max(trace.end_unix_nano, end);
  return found->second;
}

void Generation::link(uint32_t trace_number, uint32_t row) {
  Trace& trace = traces_[trace_number];
  if (trace.first_row == kNone) {
    trace.first_row = row;
  } else {
    rows_[trace.last_row].next = row;
  }
  trace.last_row = row;
  ++trace.row_count;
}

bool Generation::is_outdated(uint32_t oldest) const {
  return std::ranges::any_of(traces_,
                             [&](const Trace& trace) { return trace.grown && trace.oldest_partition < oldest; });
}

// The bounds over all rows and traces stay as they are: they may be wider than necessary.
std::shared_ptr<Generation> Generation::revised(uint32_t partition, uint32_t oldest,
                                                const FindOlderTrace& find_older) const {
  auto copy = std::make_shared<Generation>(partition, rows_.capacity());
  copy->frozen_.store(frozen_.load());
  copy->rows_ = rows_;
  copy->traces_ = traces_;
  copy->sources_ = sources_;
  copy->trace_index_ = trace_index_;
  copy->large_ = large_;
  copy->row_count_.store(row_count_.load());
  copy->memory_bytes_.store(memory_bytes_.load());
  copy->encoded_bytes_.store(encoded_bytes_.load());
  copy->min_start_ = min_start_;
  copy->max_start_ = max_start_;
  for (uint32_t i = 0; i < traces_.size(); ++i) {
    if (traces_[i].grown && traces_[i].oldest_partition < oldest) copy->revise(i, find_older(traces_[i].id));
    if (copy->traces_[i].lookup_failed) copy->failed_lookups_.push_back(traces_[i].id);
  }
  return copy;
}

void Generation::revise(uint32_t trace_number, const std::optional<TraceExtent>& older) {
  Trace& trace = traces_[trace_number];
  trace.grown = false;
  trace.oldest_partition = UINT32_MAX;
  trace.oversized = false;
  trace.lookup_failed = false;
  trace.older = {};
  trace.start_unix_nano = UINT64_MAX;
  trace.end_unix_nano = 0;
  trace.first_sequence = sequence(rows_[trace.first_row]);
  for_each_row(trace, [&](const Row& row, uint32_t) {
    trace.start_unix_nano = std::min(trace.start_unix_nano, row.start_unix_nano);
    trace.end_unix_nano = std::max(trace.end_unix_nano, end_of(row.start_unix_nano, row.duration_nano));
  });
  if (older) add_older(trace, *older);
  large_.erase(trace_number);
  if (!is_large(trace)) return;
  LargeTrace& large = large_.try_emplace(trace_number, trace.oversized).first->second;
  for_each_row(trace, [&](const Row& row, uint32_t) { large.add(trace_row(row)); });
}

// From the batch that makes a trace large on, each of its rows costs a look into two sets.
void Generation::update_large_traces(size_t first_row) {
  const auto known_before = static_cast<uint32_t>(first_row);
  for (size_t i = first_row; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    const Trace& trace = traces_[row.trace];
    if (!is_large(trace)) continue;
    auto [large, is_new] = large_.try_emplace(row.trace, trace.oversized);
    const size_t bytes_before = large->second.memory_bytes();
    if (is_new) {
      for_each_row(trace, [&, to = &large->second](const Row& older, uint32_t number) {
        if (number < known_before) to->add(trace_row(older));
      });
    }
    large->second.add(trace_row(row));
    memory_bytes_.fetch_add(large->second.memory_bytes() - bytes_before, std::memory_order_relaxed);
  }
}

const LargeTrace* Generation::large(const Trace& trace, uint64_t last_received) const {
  auto known = large_.find(number_of(trace));
  return known != large_.end() && last_sequence(trace) <= last_received ? &known->second : nullptr;
}

std::optional<TraceBounds> Generation::bounds(const Trace& trace, uint64_t last_received) const {
  if (sequence(rows_[trace.first_row]) > last_received) return std::nullopt;
  if (last_sequence(trace) <= last_received) return trace.bounds();
  TraceBounds bounds = trace.older;
  if (auto large = large_.find(number_of(trace)); large != large_.end()) {
    const TraceTally tally = large->second.tally(last_received);
    bounds.add(tally.first.start_unix_nano, tally.end_unix_nano, tally.first_sequence);
    return bounds;
  }
  for (uint32_t at = trace.first_row; sequence(rows_[at]) <= last_received; at = rows_[at].next) {
    const Row& row = rows_[at];
    bounds.add(row.start_unix_nano, end_of(row.start_unix_nano, row.duration_nano), sequence(row));
  }
  return bounds;
}

TraceTally Generation::tally(const Trace& trace, uint64_t last_received) const {
  if (auto large = large_.find(number_of(trace)); large != large_.end()) return large->second.tally(last_received);
  TraceTally tally;
  for_each_row(trace, [&](const Row& row, uint32_t) {
    if (sequence(row) <= last_received) tally.add(trace_row(row));
  });
  return tally;
}

const Generation::Trace* Generation::find(const TraceId& id) const {
  auto found = trace_index_.find(id);
  return found == trace_index_.end() ? nullptr : &traces_[found->second];
}

TraceRow Generation::trace_row(const Row& row) const {
  const Batch::Row& source = stored(row);
  return {source.span_id, source.parent_span_id, row.start_unix_nano, row.duration_nano, sequence(row), row.operation,
          row.error};
}

}  // namespace fathom::store
