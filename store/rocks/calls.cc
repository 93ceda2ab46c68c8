#include "store/rocks/calls.h"

#include <algorithm>
#include <utility>

#include "base/time.h"

namespace fathom::store {

namespace {

constexpr uint64_t kTraceBytes = 64;  // of a trace in a set

Filter filter_of(const TimeRange& range) {
  Filter filter;
  filter.range = range;
  return filter;
}

uint64_t scaled(uint64_t count, uint64_t looked_at, uint64_t left_out) {
  if (left_out == 0 || looked_at == 0) return count;
  double whole = static_cast<double>(looked_at) + static_cast<double>(left_out);
  return static_cast<uint64_t>(static_cast<double>(count) * whole / static_cast<double>(looked_at));
}

// When half of the time that is left is gone: the other half is for the answer, and for a last block that takes long.
uint64_t half_way_nano(const QueryBudget& budget) {
  const uint64_t now = now_monotonic_nano(), deadline = budget.deadline_monotonic_nano();
  return deadline == UINT64_MAX || deadline < now ? deadline : now + (deadline - now) / 2;
}

}  // namespace

Calls::Calls(Engine& engine, const TimeRange& range, uint64_t most_spans, QueryBudget& budget)
    : most_spans_(most_spans),
      budget_(budget),
      catalogue_(engine.catalogue),
      filter_(filter_of(range)),
      view_(engine.views.get()),
      sealed_(engine.sealed(), view_, budget),
      rest_(engine.sealed(), view_, budget),
      whole_(rest_, engine.catalogue),
      oversized_(engine.oversized.get()),
      meant_(filter_, engine.catalogue) {}

Result<CallSample> Calls::run() {
  Result<std::vector<SamplePlace>> places = sample_places(sealed_, meant_);
  if (!places) return places.error();
  const uint64_t stop_at = half_way_nano(budget_);
  for (const SamplePlace& place : *places) {
    const bool enough = sample_.spans_looked_at >= most_spans_;
    if (enough || (rows_looked_at_ > 0 && now_monotonic_nano() > stop_at)) {
      rows_left_out_ += place.rows;
      continue;
    }
    rows_looked_at_ += place.rows;
    Result<> looked = look_at(place);
    if (!looked && looked.error().code != ErrorCode::kNotFound) return looked.error();
  }
  sample_.traces_looked_at = traces_.size();
  sample_.spans = scaled(sample_.spans_looked_at, rows_looked_at_, rows_left_out_);
  sample_.traces = scaled(sample_.traces_looked_at, rows_looked_at_, rows_left_out_);
  tally_.finish([this](uint64_t id) { return operation(static_cast<uint32_t>(id)); },
                [this](const std::string& name) { return catalogue_.services_in_use(name); }, sample_);
  return std::move(sample_);
}

Result<> Calls::look_at(const SamplePlace& place) {
  unanswered_.clear();  // of a place that was dropped in the midst
  return place.segment != nullptr ? look_at_block(place) : look_at_memory(place);
}

Result<> Calls::look_at_block(const SamplePlace& place) {
  Result<SegmentReader*> opened = sealed_.segment(*place.segment);
  if (!opened) return opened.error();
  SegmentReader& reader = **opened;
  Result<BlockTimes> times = reader.times(place.block);
  if (!times) return times.error();
  Result<BlockIds> ids = reader.ids(place.block);
  if (!ids) return ids.error();
  Result<std::span<const BlockTrace>> traces = reader.traces(place.block);
  if (!traces) return traces.error();
  for (const BlockTrace& trace : *traces) {
    std::vector<TraceRow> rows;
    std::vector<uint32_t> places;
    for (uint32_t i = trace.first_row; i < trace.first_row + trace.row_count; ++i) {
      if (i >= ids->span.size() || i >= times->start_unix_nano.size()) return corrupt("a block's columns disagree");
      rows.push_back({ids->span[i], ids->parent[i], times->start_unix_nano[i], times->duration_nano[i],
                      times->sequence[i], times->operation[i], times->error[i] != 0});
      places.push_back(i);
    }
    Result<> counted = count({trace.id, Relatives(std::move(rows)), std::move(places)});
    if (!counted) return counted;
  }
  return count_unanswered(reader, place.block);
}

// Rows in memory are in order of reception: a trace's are gathered from the stretch. The lock is let go before anything
// is read from elsewhere.
Result<> Calls::look_at_memory(const SamplePlace& place) {
  if (Result<> alive = budget_.check(); !alive) return alive;
  std::map<TraceId, std::pair<std::vector<TraceRow>, std::vector<uint32_t>>> pieces;
  {
    auto lock = place.generation->read();
    for (uint32_t i = place.block; i < place.block + place.rows; ++i) {
      const Generation::Row& row = place.generation->rows()[i];
      auto& [rows, places] = pieces[place.generation->traces()[row.trace].id];
      rows.push_back(place.generation->trace_row(row));
      places.push_back(i);
    }
  }
  for (auto& [id, piece] : pieces) {
    Result<> counted = count({id, Relatives(std::move(piece.first)), std::move(piece.second)});
    if (!counted) return counted;
  }
  count_unanswered(*place.generation);
  return {};
}

Result<> Calls::count(const Piece& piece) {
  const std::vector<TraceRow>& rows = piece.relatives.rows();
  bool any = false;
  Result<bool> calls = has_calls(piece.trace);
  if (!calls) return calls.error();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!filter_.range.contains(rows[i].start_unix_nano)) continue;
    any = true;
    ++sample_.spans_looked_at;
    if (!*calls) continue;
    if (Result<> counted = count_row(piece, i); !counted) return counted;
  }
  if (!any || !traces_.insert(piece.trace).second) return {};
  return budget_.spend(kTraceBytes);
}

// Callers and answers of an oversized trace would have to be looked for in all of it.
Result<bool> Calls::has_calls(const TraceId& id) {
  if (oversized_->contains(id)) return false;
  Result<bool> oversized = whole_.may_be_oversized(id) ? whole_.is_oversized(id) : Result<bool>(false);
  if (!oversized) return oversized;
  return !*oversized;
}

Result<> Calls::count_row(const Piece& piece, size_t index) {
  const TraceRow& row = piece.relatives.rows()[index];
  const CallSpan span = call_span(row);
  if (is_failed_call(span)) {
    Result<bool> answered = is_answered(piece, row);
    if (!answered) return answered.error();
    if (!*answered) unanswered_.push_back({span, piece.places[index]});
  }
  return row.parent_span_id.is_zero() ? Result<>() : count_answer(piece, row);
}

Result<> Calls::count_answer(const Piece& piece, const TraceRow& row) {
  const TraceRow* parent = piece.relatives.find(row.parent_span_id);
  if (parent == nullptr) {
    Result<const Relatives*> trace = whole_trace(piece.trace);
    if (!trace) return trace.error();
    parent = (*trace)->find(row.parent_span_id);
  }
  if (parent != nullptr) count_call(*parent, row);
  return {};
}

Result<bool> Calls::is_answered(const Piece& piece, const TraceRow& row) {
  const auto is_answer = [&](const TraceRow& child) {
    return answers(!same_service(child.operation, row.operation), operation(child.operation).kind);
  };
  if (piece.relatives.any_child(row.span_id, is_answer)) return true;
  Result<const Relatives*> trace = whole_trace(piece.trace);
  if (!trace) return trace.error();
  return (*trace)->any_child(row.span_id, is_answer);
}

Result<const Relatives*> Calls::whole_trace(const TraceId& id) {
  if (auto known = wholes_.find(id); known != wholes_.end()) return &known->second;
  Result<bool> oversized = whole_.is_oversized(id);  // it may be unknown so far, if an older server sealed it
  if (!oversized) return oversized.error();
  Result<std::vector<TraceRow>> rows = *oversized ? std::vector<TraceRow>() : rows_of(id);
  if (!rows) return rows.error();
  if (kept_rows_ + rows->size() > kMostKeptRows) {
    wholes_.clear();
    kept_rows_ = 0;
  }
  kept_rows_ += rows->size();
  return &wholes_.emplace(id, Relatives(*std::move(rows))).first->second;
}

Result<std::vector<TraceRow>> Calls::rows_of(const TraceId& id) {
  std::vector<TraceRow> all;
  Result<std::vector<TracePart>> parts = rest_.parts(id);
  if (!parts) return parts.error();
  for (const TracePart& part : *parts) {
    Result<std::vector<TraceRow>> sealed = rest_.rows(id, part);
    if (!sealed) return sealed.error();
    all.insert(all.end(), sealed->begin(), sealed->end());
  }
  for (const auto& generation : view_->generations) {
    auto lock = generation->read();
    const Generation::Trace* found = generation->find(id);
    if (found == nullptr) continue;
    generation->for_each_row(*found,
                             [&](const Generation::Row& row, uint32_t) { all.push_back(generation->trace_row(row)); });
  }
  return all;
}

void Calls::count_call(const TraceRow& parent, const TraceRow& row) {
  if (!same_service(parent.operation, row.operation)) tally_.add(call_span(parent), call_span(row));
}

Result<> Calls::count_unanswered(SegmentReader& reader, uint32_t block) {
  if (unanswered_.empty()) return {};
  std::map<uint32_t, std::string> peers;  // by row; of several values the least
  Result<std::vector<ValueRows>> values = reader.value_counts(block, kPeerService);
  if (!values && values.error().code != ErrorCode::kNotFound) return values.error();
  for (const ValueRows& value : values ? *values : std::vector<ValueRows>()) {
    Result<std::vector<uint32_t>> rows = reader.match(block, kPeerService, value.value);
    if (!rows) return rows.error();
    for (uint32_t row : *rows) {
      auto [known, is_new] = peers.try_emplace(row, value.value);
      if (!is_new) known->second = std::min(known->second, std::string(value.value));
    }
  }
  for (const Unanswered& call : unanswered_) {
    auto peer = peers.find(call.place);
    tally_.add_unanswered(call.caller, peer == peers.end() ? "" : peer->second);
  }
  unanswered_.clear();
  return {};
}

void Calls::count_unanswered(const Generation& generation) {
  auto lock = generation.read();
  Batch::Scratch scratch;
  for (const Unanswered& call : unanswered_) {
    const Generation::Row& row = generation.rows()[call.place];
    const Batch& batch = generation.batch(row);
    const Batch::Row& stored = generation.stored(row);
    tally_.add_unanswered(call.caller, peer_of(batch.span(stored, scratch), batch.resource(stored.resource)));
  }
  unanswered_.clear();
}

const OperationKey& Calls::operation(uint32_t id) {
  auto found = operations_.find(id);
  if (found == operations_.end()) found = operations_.emplace(id, catalogue_.operation(id)).first;
  return found->second;
}

CallSpan Calls::call_span(const TraceRow& row) {
  return {row.operation, operation(row.operation).kind, row.error, row.duration_nano};
}

bool Calls::same_service(uint32_t one, uint32_t other) {
  const OperationKey& a = operation(one);
  const OperationKey& b = operation(other);
  return a.service == b.service && a.service_namespace == b.service_namespace;
}

}  // namespace fathom::store
