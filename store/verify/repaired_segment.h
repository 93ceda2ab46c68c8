// RepairedSegment: the intact rows of a damaged segment, gathered so that they can be sealed again.
//
// Thread safety: one thread. Ownership: owns copies of the rows. Memory: the rows of one segment, encoded as batches.
// Errors: a damaged block is a loss, not an error.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "store/rocks/generation.h"
#include "store/rocks/sealed.h"

namespace fathom::store {

// A block that cannot be read, or all blocks of a segment whose directory cannot.
struct LostBlock {
  std::optional<uint32_t> block;
  std::string reason;
  uint64_t rows = 0;
  uint64_t traces = 0;
  TimeRange started;
  uint64_t most_batches = 0;
};

// The number of the row's operation in the new directory.
using OperationOf = std::function<uint32_t(const StoredRow& row)>;

// Whether the rows of a trace are wanted; empty: those of all traces.
using KeepsTrace = std::function<bool(const TraceId& id)>;

class RepairedSegment {
 public:
  RepairedSegment(const SegmentInfo& info, OperationOf operation_of, KeepsTrace keeps_trace = {});
  ~RepairedSegment();

  void read(SealedReader& reader);
  uint64_t rows() const { return rows_; }
  uint64_t left_out() const { return left_out_; }  // rows of traces that are not wanted
  const std::vector<LostBlock>& lost() const { return lost_; }
  // The rows as a frozen generation; nothing is left here. Call it once, if there are rows.
  std::unique_ptr<Generation> take(const FindOlderTrace& find_older);

 private:
  struct Part;
  // Batches have one clock each.
  using PartKey = std::tuple<uint64_t, bool, int64_t, uint64_t>;

  void add(const StoredRow& row, uint32_t block);
  void lose(uint32_t block, const BlockZone& zone, const std::string& reason);

  const SegmentInfo& info_;
  const OperationOf operation_of_;
  const KeepsTrace keeps_trace_;
  std::map<PartKey, std::unique_ptr<Part>> parts_;
  uint64_t rows_ = 0;
  uint64_t left_out_ = 0;
  std::vector<LostBlock> lost_;
};

}  // namespace fathom::store
