// BatchOperations: the spans of one batch by operation, as buckets of their durations.
//
// Purpose: what all spans of an operation share (its names, a lookup, a lock) is paid for once per batch, not once per
// span. Names and resources are numbered as strangers send them, so where they go in the table hangs on a secret of the
// process: nobody can send a batch whose operations all go to one place. Thread safety: one thread; memory is kept for
// the next batch. Ownership: indexes are into the batch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "store/batch.h"

namespace fathom::collector {

class BatchOperations {
 public:
  struct Operation {
    uint32_t resource = 0;
    uint32_t name = 0;
    store::SpanKind kind = store::SpanKind::kUnspecified;
    uint32_t begin = 0;  // into the buckets
    uint32_t end = 0;
  };

  struct Secret {
    uint64_t mask = 0;
    uint64_t multiplier = 1;  // odd
  };
  static const Secret& secret();  // the process's own
  // Where an operation is to be, of which the low bits count.
  static size_t place_of(const store::Batch::Row& row, const Secret& secret);

  void group(const store::Batch& batch);
  const std::vector<Operation>& operations() const { return operations_; }
  // DecayedHistogram's, one for each span.
  std::span<const uint16_t> buckets(const Operation& operation) const {
    return std::span(buckets_).subspan(operation.begin, operation.end - operation.begin);
  }

 private:
  uint32_t operation_of(const store::Batch::Row& row);

  const Secret secret_ = secret();
  std::vector<Operation> operations_;
  std::vector<uint32_t> table_;    // open addressing: an operation's number plus one, or 0
  std::vector<uint32_t> of_row_;   // each row's operation
  std::vector<uint16_t> buckets_;  // by operation
};

}  // namespace fathom::collector
