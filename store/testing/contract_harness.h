// A store under test: made by a factory, with a clock that the test moves, and a way to close and open it again.
//
// Purpose: the contract suite and the random sequences run on every engine through this. Thread safety: advance() and
// store() from the test's thread. Ownership: a harness owns its store and whatever that lies on.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "base/time.h"
#include "store/span_store.h"
#include "store/testing/span_builder.h"

namespace fathom::store::testing {

struct HarnessOptions {
  size_t operations_per_service = 1000;
  uint64_t trace_spans = 131'072;  // a trace with more is oversized
};

class Harness {
 public:
  virtual ~Harness() = default;
  virtual SpanStore& store() = 0;
  // Closes the store and opens it again over what is durable; engines without a disk keep going.
  virtual void reopen() = 0;

  // The store's clock: it moves only here.
  void advance(uint64_t nano) { *clock_ += nano; }
  uint64_t now_unix_nano() const { return *clock_; }

 protected:
  std::function<uint64_t()> clock() const {
    return [clock = clock_] { return clock->load(); };
  }

 private:
  std::shared_ptr<std::atomic<uint64_t>> clock_ = std::make_shared<std::atomic<uint64_t>>(kTestNow);
};

struct StoreFactory {
  std::string name;
  std::function<std::unique_ptr<Harness>(const HarnessOptions&)> make;
};
inline void PrintTo(const StoreFactory& factory, std::ostream* out) {
  *out << factory.name;
}

StoreFactory model_factory();

// Appends, waits for the answer, and tries again while the store asks for that, as senders do.
AppendResult append_and_wait(SpanStore& store, BatchPtr batch);

}  // namespace fathom::store::testing
