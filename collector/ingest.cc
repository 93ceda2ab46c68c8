#include "collector/ingest.h"

#include <map>
#include <mutex>
#include <utility>

#include "base/thread_priority.h"

namespace fathom::collector {

// A request between its decoding and its answer.
struct Ingest::Pending {
  std::shared_ptr<Ingest> ingest;  // keeps the budget alive for `memory`
  Transport transport;
  Done done;
  Reservation memory;
  Decoded decoded;

  std::mutex mutex;
  size_t batches_left = 0;
  uint64_t stored_spans = 0;
  uint64_t refused_spans = 0;                // by the store
  std::map<std::string, uint64_t> refusals;  // the store's reasons, and how many of those spans each explains
  bool retry = false;
  std::string retry_message;  // the store's first
};

// Every reason, for whoever mends the first would only meet the next: "2 x trace_id must be ...; 1 x span_id must ...".
std::string Ingest::why_rejected(const Pending& pending) {
  std::string text;
  auto add = [&text](uint64_t spans, std::string_view reason) {
    if (spans == 0) return;
    if (!text.empty()) text += "; ";
    text.append(std::to_string(spans)).append(" x ").append(reason);
  };
  for (size_t i = 0; i < kRejections; ++i) {
    add(pending.decoded.rejections[i], rejection_rule(static_cast<Rejection>(i)));
  }
  for (const auto& [reason, spans] : pending.refusals) add(spans, reason);
  return text;
}

Ingest::Ingest(const IngestOptions& options, store::SpanStore& store)
    : options_(options), store_(store), budget_(options.budget_bytes, metrics_.budget_used()) {}

void Ingest::set_limits(const IngestOptions& options) {
  budget_.set_limit(options.budget_bytes);
  std::lock_guard lock(limits_mutex_);
  options_.max_request_bytes = options.max_request_bytes;
  options_.budget_bytes = options.budget_bytes;
  options_.limits = options.limits;
  options_.redactor = options.redactor;
}

Ingest::DecodingRules Ingest::decoding_rules() const {
  std::lock_guard lock(limits_mutex_);
  return {options_.limits, options_.redactor};
}

Result<> Ingest::take(Reservation& reservation, uint64_t bytes) {
  if (reservation.grow(bytes)) return {};
  return no_room(reservation.bytes() + bytes);
}

Result<> Ingest::has_room(uint64_t bytes) const {
  const uint64_t limit = budget_.limit();  // once: it may be set anew meanwhile
  if (bytes <= limit && budget_.used() <= limit - bytes) return {};
  return no_room(bytes);
}

Error Ingest::no_room(uint64_t bytes) const {
  if (bytes > budget_.limit()) {
    return exhausted(
        "this request needs more memory than the collector has for all requests; send fewer spans at once");
  }
  return unavailable("too many requests are under way; try again later");
}

Answer Ingest::answer(const Error& error) const {
  if (error.code == ErrorCode::kExhausted) return {Verdict::kOversized, error.message};
  if (error.code == ErrorCode::kInvalid || error.code == ErrorCode::kCorrupt) return {Verdict::kInvalid, error.message};
  return {Verdict::kUnavailable, error.message, 0, options_.retry_delay_nano};
}

Result<Decoded> Ingest::decode(Encoding encoding, std::string_view body, const Stamp& stamp, Reservation& decoded) {
  GrowMemory grow = [&](uint64_t bytes) { return take(decoded, bytes); };
  const DecodingRules rules = decoding_rules();
  if (encoding == Encoding::kJson) return decode_json(body, rules.limits, grow, rules.redactor.get());
  return decode_protobuf(body, rules.limits, grow, stamp, rules.redactor.get());
}

void Ingest::submit(Transport transport, Encoding encoding, std::string_view body, Reservation wire, Done done,
                    const Stamp& stamp) {
  // Not for a single exporter that waits for each answer: its requests come one at a time and are short.
  if (++under_way_ > 1) yield_to_questions();
  metrics_.received(transport, body.size());
  Reservation memory = open();
  Result<Decoded> decoded = decode(encoding, body, stamp, memory);
  wire.release();
  if (!decoded.ok()) {
    Answer refusal = answer(decoded.error());
    metrics_.answered(transport, refusal.verdict);
    --under_way_;
    return done(std::move(refusal));
  }
  auto pending = std::make_shared<Pending>();
  pending->ingest = shared_from_this();
  pending->transport = transport;
  pending->done = std::move(done);
  pending->memory = std::move(memory);
  pending->decoded = std::move(decoded).value();
  append(std::move(pending));
}

void Ingest::append(std::shared_ptr<Pending> pending) {
  std::vector<store::BatchPtr> batches = std::exchange(pending->decoded.batches, {});
  // One more than there are batches, so that the last answer cannot come before the last append.
  pending->batches_left = batches.size() + 1;
  // gRPC has several threads; HTTP's one must not block. With several requests, each thread has others to decode.
  const bool may_block = pending->transport == Transport::kGrpc && batches.size() == 1 && under_way_ == 1;
  for (const store::BatchPtr& batch : batches) {
    auto done = [pending, spans = batch->rows().size()](const store::AppendResult& result) {
      pending->ingest->appended(*pending, spans, result);
    };
    const auto observe = [&] {
      if (options_.observer) options_.observer->took(*batch);
    };
    if (may_block) {
      store_.append_here(batch, std::move(done), observe);
    } else {
      store_.append(batch, std::move(done));
      observe();  // while the store waits for the disk
    }
  }
  appended(*pending, 0, {});
}

void Ingest::appended(Pending& pending, uint64_t spans, const store::AppendResult& result) {
  {
    std::lock_guard lock(pending.mutex);
    if (result.outcome == store::AppendOutcome::kDurable) pending.stored_spans += spans;
    if (result.outcome == store::AppendOutcome::kRejected) {
      pending.refused_spans += spans;
      pending.refusals[result.message] += spans;
    }
    if (result.outcome == store::AppendOutcome::kRetryable) {
      if (!pending.retry) pending.retry_message = result.message;
      pending.retry = true;
    }
    if (--pending.batches_left > 0) return;
  }
  finish(pending);
}

Answer Ingest::outcome(const Pending& pending) const {
  // What is durable already is recognised when the sender comes again, so the whole request may be repeated.
  if (pending.retry) return {Verdict::kUnavailable, pending.retry_message, 0, options_.retry_delay_nano};
  uint64_t rejected = pending.decoded.rejected_spans + pending.refused_spans;
  if (rejected == 0) return {};
  return {Verdict::kPartial, why_rejected(pending), rejected};
}

void Ingest::finish(Pending& pending) {
  Answer answer = outcome(pending);
  metrics_.answered(pending.transport, answer.verdict);
  if (is_success(answer.verdict)) {
    metrics_.stored(pending.transport, pending.stored_spans);
    metrics_.account(pending.decoded);
    if (pending.refused_spans > 0) metrics_.rejected_by_store(pending.refused_spans);
  }
  pending.memory.release();
  --under_way_;
  std::exchange(pending.done, nullptr)(std::move(answer));
}

}  // namespace fathom::collector
