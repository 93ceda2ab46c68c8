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
    Piece piece{trace.id, {}, {}};
    for (uint32_t i = trace.first_row; i < trace.first_row + trace.row_count; ++i) {
      if (i >= ids->span.size() || i >= times->start_unix_nano.size()) return corrupt("a block's columns disagree");
      piece.rows.push_back({ids->span[i], ids->parent[i], times->start_unix_nano[i], times->duration_nano[i],
                            times->sequence[i], times->operation[i], times->error[i] != 0});
      piece.places.push_back(i);
    }
    if (Result<> counted = count(piece); !counted) return counted;
  }
  return count_unanswered(reader, place.block);
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
      piece.places.push_back(i);
    }
  }
  for (auto& [id, piece] : pieces) {
    piece.trace = id;
    if (Result<> counted = count(piece); !counted) return counted;
  }
  count_unanswered(*place.generation);
  return {};
}

Result<> Calls::count(const Piece& piece) {
  std::optional<Whole> whole;
  bool any = false;
  for (size_t i = 0; i < piece.rows.size(); ++i) {
    if (!filter_.range.contains(piece.rows[i].start_unix_nano)) continue;
    any = true;
    ++sample_.spans_looked_at;
    if (Result<> counted = count_row(piece, i, whole); !counted) return counted;
  }
  if (any) traces_.insert(piece.trace);
  return {};
}

Result<> Calls::count_row(const Piece& piece, size_t index, std::optional<Whole>& whole) {
  const TraceRow& row = piece.rows[index];
  const CallSpan span = call_span(row);
  if (is_failed_call(span)) {
    Result<bool> answered = is_answered(piece, row, whole);
    if (!answered) return answered.error();
    if (!*answered) unanswered_.push_back({span, piece.places[index]});
  }
  return row.parent_span_id.is_zero() ? Result<>() : count_answer(piece, row, whole);
}

Result<> Calls::count_answer(const Piece& piece, const TraceRow& row, std::optional<Whole>& whole) {
  if (const TraceRow* parent = find_row(piece.rows, row.parent_span_id)) return count_call(*parent, row), Result<>();
  Result<const Whole*> trace = whole_trace(piece.trace, whole);
  if (!trace) return trace.error();
  auto parent = (*trace)->rows.find(row.parent_span_id);
  if (parent != (*trace)->rows.end()) count_call(parent->second, row);
  return {};
}

Result<bool> Calls::is_answered(const Piece& piece, const TraceRow& row, std::optional<Whole>& whole) {
  const auto answers_it = [&](uint32_t child) {
    return answers(!same_service(child, row.operation), operation(child).kind);
  };
  const auto is_answer = [&](const TraceRow& child) {
    return child.parent_span_id == row.span_id && answers_it(child.operation);
  };
  if (std::ranges::any_of(piece.rows, is_answer)) return true;
  Result<const Whole*> trace = whole_trace(piece.trace, whole);
  if (!trace) return trace.error();
  auto children = (*trace)->children.find(row.span_id);
  return children != (*trace)->children.end() && std::ranges::any_of(children->second, answers_it);
}

void Calls::add_rows(const std::vector<TraceRow>& rows, Whole& out) {
  for (const TraceRow& row : rows) {
    auto [known, is_new] = out.rows.try_emplace(row.span_id, row);
    if (!is_new && row.sequence < known->second.sequence) known->second = row;
    if (!row.parent_span_id.is_zero()) out.children[row.parent_span_id].insert(row.operation);
  }
}

Result<const Calls::Whole*> Calls::whole_trace(const TraceId& id, std::optional<Whole>& whole) {
  if (whole) return &*whole;
  Whole all;
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
  return &whole.emplace(std::move(all));
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
