// Ingest: the one way of a request into the store, whatever brought it: memory, decoding, durability, answer.
//
// Purpose: the listeners stay thin; admission and the meaning of the store's outcomes are decided here only.
// Thread safety: all of it. Ownership: held by shared_ptr; a request under way keeps it alive, and the store must
// outlive all of them. Errors: none of its own, every fault becomes an Answer.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/byte_budget.h"
#include "base/result.h"
#include "base/settable.h"
#include "collector/answer.h"
#include "collector/ingest_metrics.h"
#include "collector/span_observer.h"
#include "redact/redactor.h"
#include "store/span_store.h"

namespace fathom::collector {

struct IngestOptions {
  Settable<uint64_t> max_request_bytes = 64ull << 20;
  Settable<uint64_t> budget_bytes = 160ull << 20;
  uint64_t retry_delay_nano = 1'000'000'000;
  store::BatchLimits limits;
  std::shared_ptr<SpanObserver> observer;    // sees what is handed to the store; may be none
  std::shared_ptr<const Redactor> redactor;  // of every request, whatever brought it; null: nothing is redacted
};

class Ingest : public std::enable_shared_from_this<Ingest> {
 public:
  using Done = std::function<void(Answer)>;

  Ingest(const IngestOptions& options, store::SpanStore& store);

  // A reservation of this budget, holding nothing yet.
  Reservation open() { return budget_.open(); }
  // Takes more of the budget. kUnavailable when others hold it, kExhausted when even all of it would not be enough.
  Result<> take(Reservation& reservation, uint64_t bytes);
  // What take() would say now; takes nothing.
  Result<> has_room(uint64_t bytes) const;

  // Decodes `body`, which is read during the call only, and stores it. `wire` is the memory that the body lies in; it
  // is given back before the store is waited for. `done` is called once, by this thread or one of the store's.
  // `stamp` goes with protobuf only.
  void submit(Transport transport, Encoding encoding, std::string_view body, Reservation wire, Done done,
              const Stamp& stamp = {});

  // What a fault is answered with; counts nothing.
  Answer answer(const Error& error) const;
  // Counts a request that was answered without submit().
  void refused(Transport transport, Verdict verdict) { metrics_.answered(transport, verdict); }
  // Takes max_request_bytes, budget_bytes, limits and redactor of `options`, from then on; the rest stays.
  void set_limits(const IngestOptions& options);
  IngestMetrics& metrics() { return metrics_; }
  const IngestOptions& options() const { return options_; }

 private:
  struct Pending;
  Error no_room(uint64_t bytes) const;
  Result<Decoded> decode(Encoding encoding, std::string_view body, const Stamp& stamp, Reservation& decoded);
  void append(std::shared_ptr<Pending> pending);
  void appended(Pending& pending, uint64_t spans, const store::AppendResult& result);
  void finish(Pending& pending);
  Answer outcome(const Pending& pending) const;
  static std::string why_rejected(const Pending& pending);

  struct DecodingRules {
    store::BatchLimits limits;
    std::shared_ptr<const Redactor> redactor;
  };
  DecodingRules decoding_rules() const;

  IngestOptions options_;  // constant but for what set_limits() changes
  mutable std::mutex limits_mutex_;
  store::SpanStore& store_;
  IngestMetrics metrics_;
  ByteBudget budget_;                  // shows itself in metrics_
  std::atomic<size_t> under_way_ = 0;  // requests
};

}  // namespace fathom::collector
