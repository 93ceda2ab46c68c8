#include "collector/otlp/protobuf_value.h"

#include <optional>
#include <string>
#include <utility>

#include "base/protobuf_wire.h"
#include "collector/otlp/nested_writer.h"

namespace fathom::collector {

namespace {

using store::ValueType;
using store::ValueView;

// An AnyValue's oneof: the member that came last.
struct OneOf {
  uint32_t tag = 0;
  uint64_t bits = 0;
  std::string_view bytes;
  bool is_cut = false;  // of a string
  // Arrays and maps only: the message from the first of an unbroken row of them on, because equal members merge.
  std::string_view run;
};

constexpr uint32_t kString = bytes_field(1);
constexpr uint32_t kBool = varint_field(2);
constexpr uint32_t kInt = varint_field(3);
constexpr uint32_t kDouble = fixed64_field(4);
constexpr uint32_t kArray = bytes_field(5);
constexpr uint32_t kMap = bytes_field(6);
constexpr uint32_t kBytes = bytes_field(7);
constexpr uint32_t kCut = varint_field(2000);  // ours, not OTLP's: proto/otlp/common.proto

bool is_member(uint32_t tag) {
  switch (tag) {
    case kString:
    case kBool:
    case kInt:
    case kDouble:
    case kArray:
    case kMap:
    case kBytes:
      return true;
    default:
      return false;
  }
}

uint8_t byte_at(std::string_view message, size_t at) {
  return static_cast<uint8_t>(message[at]);
}

// Nearly every KeyValue is a key and a value, in this order and shorter than 128 bytes. Reading these without a loop
// shortens decoding by a fifth. False: the message has another form.
bool read_short_pair(std::string_view message, ProtobufKeyValue& pair) {
  if (message.size() < 4 || byte_at(message, 0) != bytes_field(1)) return false;
  const size_t key_bytes = byte_at(message, 1), value_at = key_bytes + 4;
  if (key_bytes >= 0x80 || value_at > message.size() || byte_at(message, key_bytes + 2) != bytes_field(2)) return false;
  const size_t value_bytes = byte_at(message, key_bytes + 3);
  if (value_bytes >= 0x80 || value_bytes != message.size() - value_at) return false;
  pair.key = message.substr(2, key_bytes);
  pair.value = message.substr(value_at);
  return true;
}

// The same for a value that is a short string.
bool is_short_string(std::string_view message) {
  return message.size() >= 2 && byte_at(message, 0) == kString && byte_at(message, 1) < 0x80 &&
         byte_at(message, 1) == message.size() - 2;
}

bool read_oneof(std::string_view message, OneOf& value) {
  WireReader reader(message);
  std::string_view before = message;
  for (WireField field; reader.next(field); before = reader.rest()) {
    if (field.tag == kCut) value.is_cut = field.bits != 0;
    if (!is_member(field.tag)) continue;
    if (field.tag != value.tag) value.run = before;
    value.tag = field.tag;
    value.bits = field.bits;
    value.bytes = field.bytes;
  }
  return !reader.failed();
}

// The value of a KeyValue that says it several times: all of them, one after the other.
bool join_values(std::string_view message, ProtobufKeyValue& pair, SpanSink& sink) {
  std::string joined;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.tag == bytes_field(2)) joined += field.bytes;
  }
  pair.value = sink.keep(std::move(joined));
  return !reader.failed();
}

// What is neither array nor map, as it was sent.
ValueView scalar_of(const OneOf& member) {
  switch (member.tag) {
    case kString:
      return {member.is_cut ? ValueType::kCut : ValueType::kString, member.bytes, 0};
    case kBool:
      return ValueView::of_bool(member.bits != 0);
    case kInt:
      return ValueView::of_int(static_cast<int64_t>(member.bits));
    case kDouble:
      return {ValueType::kDouble, {}, member.bits};
    case kBytes:
      return {ValueType::kBytes, member.bytes, 0};
    default:
      return {};
  }
}

bool is_nested(const OneOf& member) {
  return member.tag == kArray || member.tag == kMap;
}

// What a hash or mask rule puts in the place of a value at a depth.
ValueOutcome replace(RedactAction action, const OneOf& member, unsigned depth, std::string& text, SpanSink& sink);

// Writes nested values, until the text is longer than any that will be kept.
class NestedFromProtobuf {
 public:
  NestedFromProtobuf(SpanSink& sink, NestedWriter& out) : sink_(sink), out_(out) {}

  ValueOutcome write(const OneOf& value, unsigned depth = 1) {
    if (!nested(value, depth)) return too_deep_ ? ValueOutcome::kTooDeep : ValueOutcome::kMalformed;
    return out_.is_dropped() ? ValueOutcome::kRedacted : ValueOutcome::kRead;
  }

 private:
  bool any_value(std::string_view message, unsigned depth) {
    OneOf value;
    if (!read_oneof(message, value)) return false;
    if (is_nested(value)) return nested(value, depth);
    out_.scalar(scalar_of(value));
    return true;
  }

  bool nested(const OneOf& value, unsigned depth) {
    too_deep_ = too_deep_ || depth > kMaxValueDepth;
    if (too_deep_) return false;
    bool is_map = value.tag == kMap;
    out_.begin(is_map);
    WireReader run(value.run);
    for (WireField field; run.next(field);) {
      if (field.tag == value.tag && !elements(field.bytes, is_map, depth)) return false;
    }
    out_.end(is_map);
    return true;
  }

  bool elements(std::string_view message, bool is_map, unsigned depth) {
    WireReader reader(message);
    for (WireField field; !out_.enough() && reader.next(field);) {
      if (field.tag != bytes_field(1)) continue;
      if (!(is_map ? pair(field.bytes, depth) : any_value(field.bytes, depth + 1))) return false;
    }
    return !reader.failed();
  }

  bool pair(std::string_view message, unsigned depth) {
    ProtobufKeyValue pair;
    if (!read_key_value(message, pair, sink_)) return false;
    const std::optional<RedactAction> action = out_.member_action(pair.key);
    if (action) return redacted(*action, pair, depth + 1);
    out_.key(pair.key);
    const size_t before = out_.enter(pair.key);
    const bool read = any_value(pair.value, depth + 1);
    out_.leave(before);
    return read;
  }

  bool redacted(RedactAction action, const ProtobufKeyValue& pair, unsigned depth) {
    if (action == RedactAction::kDrop) return true;
    OneOf value;
    if (!read_oneof(pair.value, value)) return false;
    std::string text;
    const ValueOutcome outcome = replace(action, value, depth, text, sink_);
    too_deep_ = too_deep_ || outcome == ValueOutcome::kTooDeep;
    out_.key(pair.key);
    out_.redacted(text);
    return outcome == ValueOutcome::kRead;
  }

  SpanSink& sink_;
  NestedWriter& out_;
  bool too_deep_ = false;
};

ValueOutcome replace(RedactAction action, const OneOf& member, unsigned depth, std::string& text, SpanSink& sink) {
  ValueOutcome outcome = ValueOutcome::kRead;
  if (action == RedactAction::kHash && is_nested(member)) {
    NestedWriter whole(sink);
    outcome = NestedFromProtobuf(sink, whole).write(member, depth);
    text = sink.replaced(action, {ValueType::kJson, whole.text(), 0});
  } else {
    text = sink.replaced(action, scalar_of(member));
  }
  return outcome;
}

ValueOutcome read_redacted(RedactAction action, std::string_view message, ValueView& value, SpanSink& sink) {
  if (action == RedactAction::kDrop) return ValueOutcome::kRedacted;
  OneOf member;
  if (!read_oneof(message, member)) return ValueOutcome::kMalformed;
  std::string text;
  const ValueOutcome outcome = replace(action, member, 1, text, sink);
  value = ValueView::of_string(sink.keep(std::move(text)));
  return outcome;
}

ValueOutcome read_nested(const OneOf& member, std::string_view key, ValueView& value, SpanSink& sink) {
  NestedWriter json(sink, key);
  const ValueOutcome outcome = NestedFromProtobuf(sink, json).write(member);
  if (outcome == ValueOutcome::kRead) value = {ValueType::kJson, sink.keep(json.take()), 0};
  return outcome;
}

ValueOutcome read_scalar(const ValueView& raw, ValueView& value, SpanSink& sink) {
  const std::optional<ValueView> stored = sink.scalar(raw);
  if (!stored) return ValueOutcome::kRedacted;
  value = *stored;
  return ValueOutcome::kRead;
}

}  // namespace

bool read_key_value(std::string_view message, ProtobufKeyValue& pair, SpanSink& sink) {
  if (read_short_pair(message, pair)) return true;
  unsigned values = 0;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.tag == bytes_field(1)) pair.key = field.bytes;
    if (field.tag != bytes_field(2)) continue;
    pair.value = field.bytes;
    ++values;
  }
  if (reader.failed()) return false;
  return values <= 1 || join_values(message, pair, sink);
}

ValueOutcome read_any_value(std::string_view message, std::string_view key, ValueView& value, SpanSink& sink) {
  if (const std::optional<RedactAction> action = sink.key_action(key)) {
    return read_redacted(*action, message, value, sink);
  }
  if (is_short_string(message)) return read_scalar(ValueView::of_string(message.substr(2)), value, sink);
  OneOf member;
  if (!read_oneof(message, member)) return ValueOutcome::kMalformed;
  return is_nested(member) ? read_nested(member, key, value, sink) : read_scalar(scalar_of(member), value, sink);
}

}  // namespace fathom::collector
