// SpanSink: where both decoders put what they read; it checks spans, cuts them into batches and keeps the accounts.
//
// Purpose: all that protobuf and JSON have in common: which ids are ids, what becomes of text that is not UTF-8, how
// much memory a request may take. Ownership: text() and keep() hand out views that live until the next span,
// resource or scope has been passed on. Thread safety: belongs to one decoder.
// Errors: once GrowMemory refuses, ok() is false for good and decoding should stop.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "collector/otlp/decoded.h"
#include "collector/otlp/span_draft.h"
#include "store/batch.h"

namespace fathom::collector {

class SpanSink {
 public:
  SpanSink(const store::BatchLimits& limits, const GrowMemory& grow, const Stamp& stamp = {});

  bool ok() const { return refused_.ok(); }

  // Text as it will be stored: repaired, and of what is longer than its limit only as much as shows that it was.
  std::string_view name(std::string_view raw) { return text(raw, limits_.bytes_per_name); }
  std::string_view value(std::string_view raw) { return text(raw, limits_.bytes_per_value); }
  // Bytes and JSON: nothing to repair.
  std::string_view cut_value(std::string_view raw) const { return raw.substr(0, value_room()); }
  std::string_view keep(std::string text);
  // Beyond this many bytes a value will be cut anyway.
  size_t value_room() const { return limits_.bytes_per_value + kBeyondLimit; }

  void resource(const store::ResourceView& resource);
  void scope(const store::ScopeView& scope);
  void span(SpanDraft& draft);
  void count(Loss loss, uint64_t n = 1) { decoded_.losses[static_cast<size_t>(loss)] += n; }

  // The last batch and the accounts.
  Result<Decoded> finish();

 private:
  // Enough for the builder to see that a text is too long, whatever character the limit falls into.
  static constexpr size_t kBeyondLimit = 8;

  std::string_view text(std::string_view raw, size_t limit) {
    return raw.size() <= limit && is_ascii(raw) ? raw : unusual_text(raw, limit);
  }
  std::string_view unusual_text(std::string_view raw, size_t limit);
  bool reject(const SpanDraft& draft);
  void note_oddities(const store::SpanView& span);
  void reject(Rejection reason);
  void close_batch();
  void charge();

  const store::BatchLimits& limits_;
  const GrowMemory& grow_;
  store::BatchBuilder builder_;
  Decoded decoded_;
  std::deque<std::string> kept_;
  uint64_t kept_bytes_ = 0;
  uint64_t batch_bytes_ = 0;  // of finished batches
  uint64_t charged_bytes_ = 0;
  Result<> refused_;
};

}  // namespace fathom::collector
