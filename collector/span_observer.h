// SpanObserver: whoever wants to see every span that the collector takes in, beside the store.
//
// Purpose: learning from spans without a second decoding. Thread safety: took() is called from any thread, several at
// once, after the batch was handed to the store and before its sender is answered or after; it must be quick (a sender
// may wait). A request that its sender repeats is seen again. Ownership: the batch is valid for the call.
#pragma once

#include "store/batch.h"

namespace fathom::collector {

class SpanObserver {
 public:
  virtual ~SpanObserver() = default;
  virtual void took(const store::Batch& batch) = 0;
};

}  // namespace fathom::collector
