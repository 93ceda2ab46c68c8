// Calls: who called whom, from the rows of blocks drawn evenly.
//
// Purpose: the graph of services. What is drawn is the part of a trace that lies in a block, as a rule all of it; a
// parent that is not in it is looked for where the trace index says that the rest is. So each span counts once, as its
// own caller's callee, whatever its trace is scattered over. Thread safety: one query, one thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "store/rocks/engine.h"
#include "store/rocks/sample_places.h"

namespace fathom::store {

class Calls {
 public:
  Calls(Engine& engine, const TimeRange& range, uint64_t most_spans, QueryBudget& budget);
  Result<CallSample> run();

 private:
  // The rows of a trace that are looked at together.
  struct Piece {
    TraceId trace;
    std::vector<TraceRow> rows;
  };

  Result<> look_at(const SamplePlace& place);
  Result<> look_at_block(const SamplePlace& place);
  Result<> look_at_memory(const SamplePlace& place);
  Result<> count(const Piece& piece);
  using RowsById = std::unordered_map<SpanId, TraceRow, IdHash>;

  Result<> count_row(const Piece& piece, const TraceRow& row, std::optional<RowsById>& others);
  // All rows of the trace, wherever they are; of those with one id the first that was received.
  Result<RowsById> whole_trace(const TraceId& id);
  static void add_rows(const std::vector<TraceRow>& rows, RowsById& out);
  void count_call(const TraceRow& parent, const TraceRow& row);
  const ServiceKey& service(uint32_t operation);

  const uint64_t most_spans_;
  QueryBudget& budget_;
  const Catalogue& catalogue_;
  const Filter filter_;
  const ViewPtr view_;
  SealedReader sealed_;
  SealedReader rest_;  // for looking into other blocks, while sealed_ is in the midst of one
  SpanRows meant_;
  std::unordered_map<uint32_t, ServiceKey> services_;
  std::map<std::pair<ServiceKey, ServiceKey>, CallEdge> edges_;
  std::unordered_set<TraceId, IdHash> traces_;  // looked at; a trace may lie in several places
  uint64_t rows_looked_at_ = 0;
  uint64_t rows_left_out_ = 0;
  CallSample sample_;
};

}  // namespace fathom::store
