#include "collector/otlp/json_value.h"

#include <string>
#include <utility>

#include "base/utf8.h"
#include "collector/otlp/json_scalar.h"
#include "net/json_writer.h"

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

// Writes nested values as compact JSON, until the text is longer than any that will be kept.
class NestedFromJson {
 public:
  NestedFromJson(JsonCursor& json, SpanSink& sink) : json_(json), sink_(sink) {}

  // The array or map under the cursor; false when it is nested too deeply.
  bool write(Member member) {
    container(member, 1);
    return !too_deep_;
  }
  std::string take() { return std::move(text_); }

 private:
  bool enough() const { return too_deep_ || text_.size() > sink_.value_room(); }

  void any_value(unsigned depth) {
    if (json_.take_null() || !one_member(json_, [&](Member member) { this->member(member, depth); })) out_.null();
  }

  void member(Member member, unsigned depth) {
    switch (member) {
      case Member::kString:
        return string();
      case Member::kBool:
        return void(out_.boolean(json_.boolean()));
      case Member::kInt:
        return void(out_.number(json_int64(json_)));
      case Member::kDouble:
        return void(out_.real(json_double(json_)));
      case Member::kBytes:
        return bytes();
      default:
        return container(member, depth);
    }
  }

  void string() {
    std::string scratch;
    out_.string(checked(json_.string(scratch)));
  }

  void bytes() {
    std::string decoded = json_bytes(json_);
    out_.string(store::value_text({ValueType::kBytes, sink_.cut_value(decoded), 0}));
  }

  void container(Member member, unsigned depth) {
    too_deep_ = too_deep_ || depth > kMaxValueDepth;
    if (too_deep_) return json_.skip_value();
    bool is_map = member == Member::kMap;
    is_map ? out_.begin_object() : out_.begin_array();
    std::string scratch;
    std::string_view key;
    for (bool more = json_.begin_object(key, scratch); more; more = json_.next_member(key, scratch)) {
      key == "values" ? elements(is_map, depth) : json_.skip_value();
    }
    is_map ? out_.end_object() : out_.end_array();
  }

  void elements(bool is_map, unsigned depth) {
    if (json_.take_null()) return;
    for (bool more = json_.begin_array(); more; more = json_.next_element()) {
      if (enough()) {
        json_.skip_value();
      } else {
        is_map ? pair(depth) : any_value(depth + 1);
      }
    }
  }

  // The value may stand before its key, so the key's place is held with an empty one.
  void pair(unsigned depth) {
    out_.key("");
    size_t place = text_.size() - 3;
    std::string name = "\"\"";
    bool valued = false;
    std::string scratch;
    std::string_view key;
    for (bool more = json_.begin_object(key, scratch); more; more = json_.next_member(key, scratch)) {
      if (key == "key") {
        name = quoted_key();
      } else if (key != "value") {
        json_.skip_value();
      } else if (std::exchange(valued, true)) {
        json_.fail("a key with two values");
      } else {
        any_value(depth + 1);
      }
    }
    if (!valued) out_.null();
    text_.replace(place, 2, name);
  }

  std::string quoted_key() {
    std::string scratch;
    std::string quoted;
    net::append_json_string(quoted, json_.take_null() ? std::string_view() : checked(json_.string(scratch)));
    return quoted;
  }

  // The writer repairs what is not UTF-8; that it did so is counted here.
  std::string_view checked(std::string_view raw) {
    raw = whole_characters(raw, sink_.value_room());
    if (!is_utf8(raw)) sink_.count(Loss::kTextRepaired);
    return raw;
  }

  JsonCursor& json_;
  SpanSink& sink_;
  std::string text_;
  net::JsonWriter out_{text_};
  bool too_deep_ = false;
};

bool read_member(Member member, JsonCursor& json, ValueView& value, SpanSink& sink) {
  switch (member) {
    case Member::kString:
      value = ValueView::of_string(sink.value(json_text(json, sink)));
      return true;
    case Member::kBool:
      value = ValueView::of_bool(json.boolean());
      return true;
    case Member::kInt:
      value = ValueView::of_int(json_int64(json));
      return true;
    case Member::kDouble:
      value = ValueView::of_double(json_double(json));
      return true;
    case Member::kBytes:
      value = {ValueType::kBytes, sink.keep(std::string(sink.cut_value(json_bytes(json)))), 0};
      return true;
    default:
      break;
  }
  NestedFromJson nested(json, sink);
  if (!nested.write(member)) return false;
  value = {ValueType::kJson, sink.keep(nested.take()), 0};
  return true;
}

}  // namespace

std::string_view json_text(JsonCursor& json, SpanSink& sink) {
  if (json.take_null()) return {};
  std::string scratch;
  std::string_view raw = json.string(scratch);
  if (raw.data() != scratch.data()) return raw;
  return sink.keep(std::string(whole_characters(raw, sink.value_room())));
}

bool json_any_value(JsonCursor& json, ValueView& value, SpanSink& sink) {
  value = {};
  if (json.take_null()) return true;
  bool shallow = true;
  one_member(json, [&](Member member) { shallow = read_member(member, json, value, sink); });
  return shallow;
}

}  // namespace fathom::collector
