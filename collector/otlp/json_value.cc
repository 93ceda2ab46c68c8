#include "collector/otlp/json_value.h"

#include <optional>
#include <string>
#include <utility>

#include "collector/otlp/json_scalar.h"
#include "collector/otlp/nested_writer.h"

namespace fathom::collector {

namespace {

using store::ValueType;
using store::ValueView;

enum class Member { kUnknown, kString, kBool, kInt, kDouble, kArray, kMap, kBytes };

Member member_of(std::string_view key) {
  if (key == "stringValue") return Member::kString;
  if (key == "intValue") return Member::kInt;
  if (key == "boolValue") return Member::kBool;
  if (key == "doubleValue") return Member::kDouble;
  if (key == "arrayValue") return Member::kArray;
  if (key == "kvlistValue") return Member::kMap;
  return key == "bytesValue" ? Member::kBytes : Member::kUnknown;
}

// What a rule puts in the place of the value under the cursor; kRedacted for nothing.
ValueOutcome replace(RedactAction action, bool has_value, unsigned depth, std::string& text, JsonCursor& json,
                     SpanSink& sink);

std::string json_bytes(JsonCursor& json) {
  std::string scratch;
  std::optional<std::string> bytes = from_base64(json.string(scratch));
  if (!bytes) json.fail("expected base64");
  return std::move(bytes).value_or(std::string());
}

// Passes over an AnyValue and calls `take` with its one member. As in protobuf's own JSON form, two are a fault.
template <typename Take>
bool one_member(JsonCursor& json, Take take) {
  bool taken = false;
  std::string scratch;
  std::string_view key;
  for (bool more = json.begin_object(key, scratch); more; more = json.next_member(key, scratch)) {
    Member member = member_of(key);
    if (member == Member::kUnknown) {
      json.skip_value();
    } else if (!json.take_null()) {
      if (std::exchange(taken, true)) return json.fail("a value with two types");
      take(member);
    }
  }
  return taken;
}

bool is_nested(Member member) {
  return member == Member::kArray || member == Member::kMap;
}

// What is neither array nor map, as it was sent; its text may lie in `scratch`.
ValueView read_scalar(JsonCursor& json, Member member, std::string& scratch) {
  switch (member) {
    case Member::kString:
      return ValueView::of_string(json.string(scratch));
    case Member::kBool:
      return ValueView::of_bool(json.boolean());
    case Member::kInt:
      return ValueView::of_int(json_int64(json));
    case Member::kDouble:
      return ValueView::of_double(json_double(json));
    case Member::kBytes:
      scratch = json_bytes(json);
      return {ValueType::kBytes, scratch, 0};
    default:
      return {};
  }
}

// Writes nested values, until the text is longer than any that will be kept.
class NestedFromJson {
 public:
  NestedFromJson(JsonCursor& json, SpanSink& sink, NestedWriter& out) : json_(json), sink_(sink), out_(out) {}

  // The array or map under the cursor.
  ValueOutcome write(Member member, unsigned depth = 1) {
    container(member, depth);
    if (too_deep_) return ValueOutcome::kTooDeep;
    return out_.is_dropped() ? ValueOutcome::kRedacted : ValueOutcome::kRead;
  }

 private:
  void any_value(unsigned depth) {
    if (json_.take_null() || !one_member(json_, [&](Member member) { this->member(member, depth); })) out_.scalar({});
  }

  void member(Member member, unsigned depth) {
    if (is_nested(member)) return container(member, depth);
    std::string scratch;
    out_.scalar(read_scalar(json_, member, scratch));
  }

  void container(Member member, unsigned depth) {
    too_deep_ = too_deep_ || depth > kMaxValueDepth;
    if (too_deep_) return json_.skip_value();
    bool is_map = member == Member::kMap;
    out_.begin(is_map);
    std::string scratch;
    std::string_view key;
    for (bool more = json_.begin_object(key, scratch); more; more = json_.next_member(key, scratch)) {
      key == "values" ? elements(is_map, depth) : json_.skip_value();
    }
    out_.end(is_map);
  }

  void elements(bool is_map, unsigned depth) {
    if (json_.take_null()) return;
    for (bool more = json_.begin_array(); more; more = json_.next_element()) {
      if (too_deep_ || out_.enough()) {
        json_.skip_value();
      } else {
        is_map ? pair(depth) : any_value(depth + 1);
      }
    }
  }

  void pair(unsigned depth) {
    json_key_value(json_, sink_, [&](std::string_view key, bool has_value) {
      const std::optional<RedactAction> action = out_.member_action(key);
      if (action) return redacted(*action, key, has_value, depth + 1);
      out_.key(key);
      const size_t before = out_.enter(key);
      has_value ? any_value(depth + 1) : out_.scalar({});
      out_.leave(before);
    });
  }

  void redacted(RedactAction action, std::string_view key, bool has_value, unsigned depth) {
    std::string text;
    const ValueOutcome outcome = replace(action, has_value, depth, text, json_, sink_);
    too_deep_ = too_deep_ || outcome == ValueOutcome::kTooDeep;
    if (outcome == ValueOutcome::kRedacted) return;
    out_.key(key);
    out_.redacted(text);
  }

  JsonCursor& json_;
  SpanSink& sink_;
  NestedWriter& out_;
  bool too_deep_ = false;
};

// The hash of an AnyValue of one member.
ValueOutcome hash_member(Member member, unsigned depth, std::string& text, JsonCursor& json, SpanSink& sink) {
  if (!is_nested(member)) {
    std::string scratch;
    text = sink.replaced(RedactAction::kHash, read_scalar(json, member, scratch));
    return ValueOutcome::kRead;
  }
  NestedWriter whole(sink);
  const ValueOutcome outcome = NestedFromJson(json, sink, whole).write(member, depth);
  text = sink.replaced(RedactAction::kHash, {ValueType::kJson, whole.text(), 0});
  return outcome;
}

ValueOutcome replace(RedactAction action, bool has_value, unsigned depth, std::string& text, JsonCursor& json,
                     SpanSink& sink) {
  ValueOutcome outcome = action == RedactAction::kDrop ? ValueOutcome::kRedacted : ValueOutcome::kRead;
  text = sink.replaced(action, {});
  if (!has_value || json.take_null()) return outcome;
  if (action != RedactAction::kHash) return json.skip_value(), outcome;
  one_member(json, [&](Member member) { outcome = hash_member(member, depth, text, json, sink); });
  return outcome;
}

ValueOutcome read_member(Member member, std::string_view key, JsonCursor& json, ValueView& value, SpanSink& sink) {
  if (is_nested(member)) {
    NestedWriter out(sink, key);
    const ValueOutcome outcome = NestedFromJson(json, sink, out).write(member);
    value = {ValueType::kJson, sink.keep(out.take()), 0};
    return outcome;
  }
  std::string scratch;
  ValueView raw = read_scalar(json, member, scratch);
  if (raw.is_text() && raw.text.data() == scratch.data()) raw.text = sink.keep_raw(raw.text);
  const std::optional<ValueView> stored = sink.scalar(raw);
  value = stored.value_or(ValueView());
  return stored ? ValueOutcome::kRead : ValueOutcome::kRedacted;
}

}  // namespace

std::string_view json_text(JsonCursor& json, SpanSink& sink) {
  if (json.take_null()) return {};
  std::string scratch;
  std::string_view raw = json.string(scratch);
  return raw.data() == scratch.data() ? sink.keep_raw(raw) : raw;
}

ValueOutcome json_any_value(JsonCursor& json, std::string_view key, bool has_value, ValueView& value, SpanSink& sink) {
  value = {};
  if (const std::optional<RedactAction> action = sink.key_action(key)) {
    std::string text;
    const ValueOutcome outcome = replace(*action, has_value, 1, text, json, sink);
    value = ValueView::of_string(sink.keep(std::move(text)));
    return outcome;
  }
  if (!has_value || json.take_null()) return ValueOutcome::kRead;
  ValueOutcome outcome = ValueOutcome::kRead;
  one_member(json, [&](Member member) { outcome = read_member(member, key, json, value, sink); });
  return outcome;
}

}  // namespace fathom::collector
