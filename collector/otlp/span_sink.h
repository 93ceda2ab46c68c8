// SpanSink: where both decoders put what they read; it checks spans, cuts them into batches and keeps the accounts.
//
// Purpose: all that protobuf and JSON have in common: which ids are ids, what redaction rules change, what becomes of
// text that is not UTF-8, how much memory a request may take. Rules are applied to whole texts, before limits cut them.
// Ownership: text() and keep() hand out views that live until the next span, resource or scope has been passed on.
// Thread safety: belongs to one decoder. Errors: once GrowMemory refuses, ok() is false for good and decoding should
// stop.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "collector/otlp/decoded.h"
#include "collector/otlp/span_draft.h"
#include "redact/redactor.h"
#include "store/batch.h"
#include "store/span.h"

namespace fathom::collector {

// kRedacted: a rule drops the attribute. kMalformed: protobuf only; a JSON cursor has failed then.
enum class ValueOutcome { kRead, kRedacted, kTooDeep, kMalformed };

class SpanSink {
 public:
  // `redactor` outlives the sink; null or without rules: nothing is redacted.
  SpanSink(const store::BatchLimits& limits, const GrowMemory& grow, const Redactor* redactor, const Stamp& stamp = {});

  bool ok() const { return refused_.ok(); }

  // Texts as they will be stored: redacted and repaired, and of what is longer than its limit only as much as shows
  // that it was. Keys are not redacted.
  std::string_view key(std::string_view raw) { return text(raw, limits_.bytes_per_name); }
  std::string_view name(std::string_view raw) {
    return text(searches() ? searched_name(raw) : raw, limits_.bytes_per_name);
  }
  // Likewise a value that is neither array nor map, and that no key rule is about; nothing when a value rule drops its
  // attribute.
  std::optional<store::ValueView> scalar(const store::ValueView& raw) {
    return searches() ? searched_scalar(raw) : cut(raw);
  }
  std::string_view keep(std::string text);
  // Text that is not in the request: all of it if rules must see it, or as much as will be kept.
  std::string_view keep_raw(std::string_view text);
  // Beyond this many bytes a value will be cut anyway.
  size_t value_room() const { return limits_.bytes_per_value + kBeyondLimit; }

  const Redactor* redactor() const { return redactor_; }
  // What a key rule says of an attribute; counts it.
  std::optional<RedactAction> key_action(std::string_view key) {
    return redactor_ == nullptr ? std::nullopt : counted_action(key);
  }
  // What a hash or mask rule puts in the place of a value.
  std::string replaced(RedactAction action, const store::ValueView& raw) const;
  // All of a text, repaired, so that rules see what will be stored.
  std::string_view whole_utf8(std::string_view raw);
  // Value rules; what was changed is in `changed`.
  RedactOutcome search(const store::ValueView& raw, std::string& changed);

  void resource(const store::ResourceView& resource);
  void scope(const store::ScopeView& scope);
  void span(SpanDraft& draft);
  void count(RedactAction action) { ++decoded_.redacted[static_cast<size_t>(action)]; }
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
  bool searches() const { return redactor_ != nullptr && redactor_->has_value_rules(); }
  std::optional<RedactAction> counted_action(std::string_view key);
  std::string_view searched_name(std::string_view raw);
  std::optional<store::ValueView> searched_scalar(store::ValueView raw);
  store::ValueView cut(store::ValueView raw);
  bool reject(const SpanDraft& draft);
  void note_oddities(const store::SpanView& span);
  void reject(Rejection reason);
  void close_batch();
  void charge();
  bool reserve(uint64_t bytes);  // for a text that will be kept

  const store::BatchLimits& limits_;
  const GrowMemory& grow_;
  const Redactor* const redactor_;  // null: no rules
  store::BatchBuilder builder_;
  Decoded decoded_;
  std::deque<std::string> kept_;
  uint64_t kept_bytes_ = 0;
  uint64_t batch_bytes_ = 0;  // of finished batches
  uint64_t charged_bytes_ = 0;
  Result<> refused_;
};

}  // namespace fathom::collector
