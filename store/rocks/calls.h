// Calls: who called whom, from the rows of blocks drawn evenly.
//
// Purpose: the graph of services. What is drawn is the part of a trace that lies in a block, as a rule all of it; a
// parent that is not in it is looked for where the trace index says that the rest is. So each span counts once, as its
// own caller's callee, whatever its trace is scattered over; a failed call that nobody answered counts as the span of
// the client that it is. Time runs out as spans do: when half of it is gone, what was looked at is the sample. Thread
// safety: one query, one thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "store/call_tally.h"
#include "store/rocks/engine.h"
#include "store/rocks/relatives.h"
#include "store/rocks/sample_places.h"
#include "store/rocks/trace_reader.h"

namespace fathom::store {

class Calls {
 public:
  Calls(Engine& engine, const TimeRange& range, uint64_t most_spans, QueryBudget& budget);
  Result<CallSample> run();

 private:
  // The rows of a trace that are looked at together.
  struct Piece {
    TraceId trace;
    Relatives relatives;
    std::vector<uint32_t> places;  // of the rows, in their block or generation
  };
  // A failed call without an answer.
  struct Unanswered {
    CallSpan caller;
    uint32_t place = 0;
  };

  Result<> look_at(const SamplePlace& place);
  Result<> look_at_block(const SamplePlace& place);
  Result<> look_at_memory(const SamplePlace& place);
  Result<> count(const Piece& piece);
  Result<bool> has_calls(const TraceId& id);
  Result<> count_row(const Piece& piece, size_t index);
  Result<> count_answer(const Piece& piece, const TraceRow& row);
  Result<bool> is_answered(const Piece& piece, const TraceRow& row);
  // All rows of the trace, wherever they are; valid until it is asked for another one.
  Result<const Relatives*> whole_trace(const TraceId& id);
  Result<std::vector<TraceRow>> rows_of(const TraceId& id);
  void count_call(const TraceRow& parent, const TraceRow& row);
  // The values of kPeerService of those that are unanswered, who are counted with them.
  Result<> count_unanswered(SegmentReader& reader, uint32_t block);
  void count_unanswered(const Generation& generation);
  const OperationKey& operation(uint32_t id);
  CallSpan call_span(const TraceRow& row);
  bool same_service(uint32_t one, uint32_t other);

  const uint64_t most_spans_;
  QueryBudget& budget_;
  const Catalogue& catalogue_;
  const Filter filter_;
  const ViewPtr view_;
  SealedReader sealed_;
  SealedReader rest_;  // for looking into other blocks, while sealed_ is in the midst of one
  TraceReader whole_;  // of rest_
  const std::shared_ptr<const OversizedTraces::Map> oversized_;
  SpanRows meant_;
  std::unordered_map<uint32_t, OperationKey> operations_;
  CallTally tally_;
  std::vector<Unanswered> unanswered_;  // of the place that is looked at
  // Traces that lie in several blocks, kept because these come one by one; large ones would be read again by each.
  static constexpr size_t kMostKeptRows = 400'000;
  std::unordered_map<TraceId, Relatives, IdHash> wholes_;
  size_t kept_rows_ = 0;
  std::unordered_set<TraceId, IdHash> traces_;  // looked at; a trace may lie in several places
  uint64_t rows_looked_at_ = 0;
  uint64_t rows_left_out_ = 0;
  CallSample sample_;
};

}  // namespace fathom::store
