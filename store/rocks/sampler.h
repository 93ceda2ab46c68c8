// Sampler: some of the spans that a filter means, evenly drawn, with everything they say; and how many there are.
//
// Purpose: comparisons of attributes. Decoding is what costs, so few blocks are decoded, and of each a few spans shown;
// the times of many more are looked at, to count. Thread safety: one query, one thread.
#pragma once

#include <memory>
#include <unordered_map>

#include "store/rocks/engine.h"
#include "store/rocks/sample_places.h"

namespace fathom::store {

class Sampler {
 public:
  Sampler(Engine& engine, const Filter& filter, const SampleLimits& limits, const VisitSpan& visit,
          QueryBudget& budget);
  Result<SampleCount> run();

 private:
  Result<> look_at(const SamplePlace& place);
  Result<> look_at_block(const SamplePlace& place);
  Result<> look_at_memory(const SamplePlace& place);
  void count(uint64_t rows, uint64_t matches);
  size_t wanted(size_t matches) const;
  bool has_scanned_enough() const;
  Result<> show_block(SegmentReader& reader, uint32_t block, const std::vector<uint32_t>& rows);
  void show_memory(const Generation& generation, const std::vector<uint32_t>& rows);
  const OperationKey& operation(uint32_t id);

  const SampleLimits limits_;
  const VisitSpan& visit_;
  QueryBudget& budget_;
  const Catalogue& catalogue_;
  const ViewPtr view_;
  SealedReader sealed_;
  SpanRows meant_;
  std::unordered_map<uint32_t, std::unique_ptr<const OperationKey>> operations_;
  size_t shown_per_place_ = 1;
  uint32_t blocks_decoded_ = 0;
  uint64_t known_ = 0;        // matches of blocks that match as a whole
  uint64_t found_ = 0;        // matches of what was scanned
  uint64_t scanned_ = 0;      // rows
  uint64_t not_scanned_ = 0;  // rows
  SampleCount count_;
};

}  // namespace fathom::store
