// NestedWriter: an array or a map as compact JSON text, redacted on its way, for both decoders.
//
// Purpose: what protobuf and JSON have in common below an attribute's value. Redaction comes first, on whole texts;
// then the text ends soon after it is longer than what will be kept. Ownership: texts are the request's. Thread safety:
// as the sink's. Errors: is_dropped() when a rule drops the whole value.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "collector/otlp/span_sink.h"
#include "net/json_writer.h"
#include "redact/redactor.h"

namespace fathom::collector {

class NestedWriter {
 public:
  // Below the attribute `key`.
  NestedWriter(SpanSink& sink, std::string_view key);
  // Without redaction: for a value that is hashed as a whole, up to kHashedNestedBytes.
  explicit NestedWriter(SpanSink& sink);

  // Whether the rest will not be kept.
  bool enough() const { return is_dropped_ || text_.size() > room_; }
  bool is_dropped() const { return is_dropped_; }
  const std::string& text() const { return text_; }
  std::string take() { return std::move(text_); }

  void begin(bool is_map) { is_map ? json_.begin_object() : json_.begin_array(); }
  void end(bool is_map) { is_map ? json_.end_object() : json_.end_array(); }
  void key(std::string_view raw) { json_.key(repaired(raw)); }
  void scalar(store::ValueView raw);
  // In place of a value.
  void redacted(std::string_view text) { json_.string(text); }

  // What a key rule says of a member of the map under way; counts it.
  std::optional<RedactAction> member_action(std::string_view key);
  // The keys around what is written; returns what leave() takes.
  size_t enter(std::string_view key);
  void leave(size_t before) { path_.resize(before); }

 private:
  void write(const store::ValueView& raw);
  bool redact(const store::ValueView& raw);
  std::string_view repaired(std::string_view raw);

  SpanSink& sink_;
  const Redactor* const redactor_;
  const size_t room_;
  std::string path_;
  std::string text_;
  net::JsonWriter json_{text_};
  bool is_dropped_ = false;
};

}  // namespace fathom::collector
