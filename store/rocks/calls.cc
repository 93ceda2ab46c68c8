#include "store/rocks/calls.h"

#include <algorithm>

namespace fathom::store {

namespace {

Filter filter_of(const TimeRange& range) {
  Filter filter;
  filter.range = range;
  return filter;
}

// The first that was received, of rows that have the id.
const TraceRow* find_row(const std::vector<TraceRow>& rows, const SpanId& id) {
  const TraceRow* found = nullptr;
  for (const TraceRow& row : rows) {
    if (row.span_id == id && (found == nullptr || row.sequence < found->sequence)) found = &row;
  }
  return found;
}

uint64_t scaled(uint64_t count, uint64_t looked_at, uint64_t left_out) {
  if (left_out == 0 || looked_at == 0) return count;
  double whole = static_cast<double>(looked_at) + static_cast<double>(left_out);
  return static_cast<uint64_t>(static_cast<double>(count) * whole / static_cast<double>(looked_at));
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
      meant_(filter_, engine.catalogue) {}

Result<CallSample> Calls::run() {
  Result<std::vector<SamplePlace>> places = sample_places(sealed_, meant_);
  if (!places) return places.error();
  for (const SamplePlace& place : *places) {
    if (sample_.spans_looked_at >= most_spans_) {
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
  for (auto& [key, edge] : edges_) sample_.edges.push_back(std::move(edge));
  return std::move(sample_);
}

Result<> Calls::look_at(const SamplePlace& place) {
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
    Piece piece{trace.id, {}};
    for (uint32_t i = trace.first_row; i < trace.first_row + trace.row_count; ++i) {
      if (i >= ids->span.size() || i >= times->start_unix_nano.size()) return corrupt("a block's columns disagree");
      piece.rows.push_back({ids->span[i], ids->parent[i], times->start_unix_nano[i], times->duration_nano[i],
                            times->sequence[i], times->operation[i], times->error[i] != 0});
    }
    if (Result<> counted = count(piece); !counted) return counted;
  }
  return {};
}

// Rows in memory are in order of reception: a trace's are gathered from the stretch. The lock is let go before anything
// is read from elsewhere.
Result<> Calls::look_at_memory(const SamplePlace& place) {
  if (Result<> alive = budget_.check(); !alive) return alive;
  std::map<TraceId, Piece> pieces;
  {
    auto lock = place.generation->read();
    for (uint32_t i = place.block; i < place.block + place.rows; ++i) {
      const Generation::Row& row = place.generation->rows()[i];
      Piece& piece = pieces[place.generation->traces()[row.trace].id];
      piece.rows.push_back(place.generation->trace_row(row));
    }
  }
  for (auto& [id, piece] : pieces) {
    piece.trace = id;
    if (Result<> counted = count(piece); !counted) return counted;
  }
  return {};
}

Result<> Calls::count(const Piece& piece) {
  std::optional<RowsById> others;
  bool any = false;
  for (const TraceRow& row : piece.rows) {
    if (!filter_.range.contains(row.start_unix_nano)) continue;
    any = true;
    ++sample_.spans_looked_at;
    if (Result<> counted = count_row(piece, row, others); !counted) return counted;
  }
  if (any) traces_.insert(piece.trace);
  return {};
}

Result<> Calls::count_row(const Piece& piece, const TraceRow& row, std::optional<RowsById>& others) {
  if (row.parent_span_id.is_zero()) return {};
  if (const TraceRow* parent = find_row(piece.rows, row.parent_span_id)) return count_call(*parent, row), Result<>();
  if (!others) {
    Result<RowsById> whole = whole_trace(piece.trace);
    if (!whole) return whole.error();
    others = std::move(*whole);
  }
  auto parent = others->find(row.parent_span_id);
  if (parent != others->end()) count_call(parent->second, row);
  return {};
}

void Calls::add_rows(const std::vector<TraceRow>& rows, RowsById& out) {
  for (const TraceRow& row : rows) {
    auto [known, is_new] = out.try_emplace(row.span_id, row);
    if (!is_new && row.sequence < known->second.sequence) known->second = row;
  }
}

Result<Calls::RowsById> Calls::whole_trace(const TraceId& id) {
  RowsById all;
  Result<std::vector<TracePart>> parts = rest_.parts(id);
  if (!parts) return parts.error();
  for (const TracePart& part : *parts) {
    Result<std::vector<TraceRow>> sealed = rest_.rows(id, part);
    if (!sealed) return sealed.error();
    add_rows(*sealed, all);
  }
  for (const auto& generation : view_->generations) {
    auto lock = generation->read();
    const Generation::Trace* found = generation->find(id);
    if (found == nullptr) continue;
    generation->for_each_row(
        *found, [&](const Generation::Row& row, uint32_t) { add_rows({generation->trace_row(row)}, all); });
  }
  return all;
}

void Calls::count_call(const TraceRow& parent, const TraceRow& row) {
  const ServiceKey& caller = service(parent.operation);
  const ServiceKey& callee = service(row.operation);
  if (caller == callee) return;
  CallEdge& edge = edges_[{caller, callee}];
  if (edge.calls == 0) {
    edge.caller = caller;
    edge.callee = callee;
  }
  ++edge.calls;
  edge.errors += row.error;
  edge.durations.record(row.duration_nano);
}

const ServiceKey& Calls::service(uint32_t operation) {
  auto found = services_.find(operation);
  if (found == services_.end()) {
    OperationKey key = catalogue_.operation(operation);
    found = services_.emplace(operation, ServiceKey{key.service_namespace, key.service}).first;
  }
  return found->second;
}

}  // namespace fathom::store
