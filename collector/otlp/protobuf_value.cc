#include "collector/otlp/protobuf_value.h"

#include <bit>
#include <string>

#include "base/protobuf_wire.h"
#include "base/utf8.h"
#include "net/json_writer.h"

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

// Writes nested values as compact JSON, until the text is longer than any that will be kept.
class NestedFromProtobuf {
 public:
  explicit NestedFromProtobuf(SpanSink& sink) : sink_(sink) {}

  ValueOutcome write(const OneOf& value) {
    if (!member(value, 1)) return too_deep_ ? ValueOutcome::kTooDeep : ValueOutcome::kMalformed;
    return ValueOutcome::kRead;
  }
  std::string take() { return std::move(text_); }

 private:
  bool enough() const { return text_.size() > sink_.value_room(); }

  bool any_value(std::string_view message, unsigned depth) {
    OneOf value;
    return read_oneof(message, value) && member(value, depth);
  }

  bool member(const OneOf& value, unsigned depth) {
    switch (value.tag) {
      case kString:
        string(value.bytes);
        return true;
      case kBool:
        json_.boolean(value.bits != 0);
        return true;
      case kInt:
        json_.number(static_cast<int64_t>(value.bits));
        return true;
      case kDouble:
        json_.real(std::bit_cast<double>(value.bits));
        return true;
      case kBytes:
        json_.string(store::value_text({ValueType::kBytes, sink_.cut_value(value.bytes), 0}));
        return true;
      case kArray:
      case kMap:
        return nested(value, depth);
      default:
        json_.null();
        return true;
    }
  }

  bool nested(const OneOf& value, unsigned depth) {
    too_deep_ = too_deep_ || depth > kMaxValueDepth;
    if (too_deep_) return false;
    bool is_map = value.tag == kMap;
    is_map ? json_.begin_object() : json_.begin_array();
    WireReader run(value.run);
    for (WireField field; run.next(field);) {
      if (field.tag == value.tag && !elements(field.bytes, is_map, depth)) return false;
    }
    is_map ? json_.end_object() : json_.end_array();
    return true;
  }

  bool elements(std::string_view message, bool is_map, unsigned depth) {
    WireReader reader(message);
    for (WireField field; !enough() && reader.next(field);) {
      if (field.tag != bytes_field(1)) continue;
      if (!(is_map ? pair(field.bytes, depth) : any_value(field.bytes, depth + 1))) return false;
    }
    return !reader.failed();
  }

  bool pair(std::string_view message, unsigned depth) {
    ProtobufKeyValue pair;
    if (!read_key_value(message, pair, sink_)) return false;
    json_.key(checked(pair.key));
    return any_value(pair.value, depth + 1);
  }

  void string(std::string_view raw) { json_.string(checked(raw)); }

  // The writer repairs what is not UTF-8; that it did so is counted here.
  std::string_view checked(std::string_view raw) {
    raw = whole_characters(raw, sink_.value_room());
    if (!is_utf8(raw)) sink_.count(Loss::kTextRepaired);
    return raw;
  }

  SpanSink& sink_;
  std::string text_;
  net::JsonWriter json_{text_};
  bool too_deep_ = false;
};

ValueOutcome read_nested(const OneOf& member, ValueView& value, SpanSink& sink) {
  NestedFromProtobuf json(sink);
  ValueOutcome outcome = json.write(member);
  if (outcome == ValueOutcome::kRead) value = {ValueType::kJson, sink.keep(json.take()), 0};
  return outcome;
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

ValueOutcome read_any_value(std::string_view message, ValueView& value, SpanSink& sink) {
  if (is_short_string(message)) {
    value = ValueView::of_string(sink.value(message.substr(2)));
    return ValueOutcome::kRead;
  }
  OneOf member;
  if (!read_oneof(message, member)) return ValueOutcome::kMalformed;
  switch (member.tag) {
    case kString:
      value = ValueView::of_string(sink.value(member.bytes));
      if (member.is_cut) value.type = ValueType::kCut;
      break;
    case kBool:
      value = ValueView::of_bool(member.bits != 0);
      break;
    case kInt:
      value = ValueView::of_int(static_cast<int64_t>(member.bits));
      break;
    case kDouble:
      value = {ValueType::kDouble, {}, member.bits};
      break;
    case kBytes:
      value = {ValueType::kBytes, sink.cut_value(member.bytes), 0};
      break;
    case kArray:
    case kMap:
      return read_nested(member, value, sink);
    default:
      value = {};
  }
  return ValueOutcome::kRead;
}

}  // namespace fathom::collector
