// SpanObserver: whoever wants to see every span that the collector takes in, beside the store.
//
// Purpose: learning from spans without a second decoding. Thread safety: took() is called from any thread, several at
// once, after the batch was handed to the store and before its sender is answered or after. It must be quick, because a
// sender may wait, and must not use the store, which may be within a write of the same batch. A request that its sender
// repeats is seen again. Ownership: the batch is valid for the call.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "store/batch.h"

namespace fathom::collector {

class SpanObserver {
 public:
  virtual ~SpanObserver() = default;
  virtual void took(const store::Batch& batch) = 0;
};

// Several observers as one.
class SpanObservers : public SpanObserver {
 public:
  explicit SpanObservers(std::vector<std::shared_ptr<SpanObserver>> observers) : observers_(std::move(observers)) {}
  void took(const store::Batch& batch) override {
    for (const auto& observer : observers_) observer->took(batch);
  }

 private:
  const std::vector<std::shared_ptr<SpanObserver>> observers_;
};

}  // namespace fathom::collector
