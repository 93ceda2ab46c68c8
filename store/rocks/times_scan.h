// TimesScan: the times of every span that a filter means, block by block, and how many there may be.
//
// Thread safety: one query, one thread.
#pragma once

#include "store/rocks/engine.h"
#include "store/rocks/span_rows.h"

namespace fathom::store {

class TimesScan {
 public:
  TimesScan(Engine& engine, const Filter& filter, QueryBudget& budget);

  Result<> visit(const VisitTimes& visit);
  // By zones alone.
  Result<uint64_t> at_most();

 private:
  Result<> visit_segment(const SegmentInfo& info, const VisitTimes& visit);
  Result<> visit_block(SegmentReader& reader, uint32_t block, const VisitTimes& visit);
  Result<> visit_memory(Generation& generation, const VisitTimes& visit);
  Result<> count_segment(const SegmentInfo& info, uint64_t& spans);

  QueryBudget& budget_;
  const ViewPtr view_;
  SealedReader sealed_;
  SpanRows rows_;
};

}  // namespace fathom::store
