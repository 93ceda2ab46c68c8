#include "collector/otlp/nested_writer.h"

#include "base/utf8.h"

namespace fathom::collector {

namespace {

using store::ValueType;

constexpr size_t kHashedNestedBytes = 1 << 20;
// Longer paths are cut by the redactor, too.
constexpr size_t kMostNestedPathBytes = 1024;

}  // namespace

NestedWriter::NestedWriter(SpanSink& sink, std::string_view key)
    : sink_(sink), redactor_(sink.redactor()), room_(sink.value_room()) {
  if (redactor_ != nullptr && redactor_->has_key_rules()) path_ = key.substr(0, kMostNestedPathBytes);
}

NestedWriter::NestedWriter(SpanSink& sink) : sink_(sink), redactor_(nullptr), room_(kHashedNestedBytes) {}

std::optional<RedactAction> NestedWriter::member_action(std::string_view key) {
  if (redactor_ == nullptr || !redactor_->has_key_rules()) return std::nullopt;
  const std::optional<RedactAction> action = redactor_->member_action(path_, key);
  if (action) sink_.count(*action);
  return action;
}

size_t NestedWriter::enter(std::string_view key) {
  const size_t before = path_.size();
  if (redactor_ != nullptr && redactor_->has_key_rules() && before < kMostNestedPathBytes) {
    path_.append(".").append(key.substr(0, kMostNestedPathBytes));
  }
  return before;
}

void NestedWriter::scalar(store::ValueView raw) {
  const bool is_searched = redactor_ != nullptr && redactor_->has_value_rules();
  if (is_searched && raw.is_text() && raw.type != ValueType::kBytes) raw.text = sink_.whole_utf8(raw.text);
  if (!is_searched || !redact(raw)) write(raw);
}

// Whether it wrote something else, or nothing, in the value's place.
bool NestedWriter::redact(const store::ValueView& raw) {
  std::string changed;
  const RedactOutcome outcome = sink_.search(raw, changed);
  if (outcome == RedactOutcome::kKept) return false;
  is_dropped_ = is_dropped_ || outcome == RedactOutcome::kDropped;
  json_.string(whole_characters(changed, room_));
  return true;
}

void NestedWriter::write(const store::ValueView& raw) {
  switch (raw.type) {
    case ValueType::kBool:
      return void(json_.boolean(raw.as_bool()));
    case ValueType::kInt:
      return void(json_.number(raw.as_int()));
    case ValueType::kDouble:
      return void(json_.real(raw.as_double()));
    case ValueType::kBytes:
      return void(json_.string(store::value_text({ValueType::kBytes, raw.text.substr(0, room_), 0})));
    case ValueType::kEmpty:
      return void(json_.null());
    default:
      return void(json_.string(repaired(raw.text)));
  }
}

// The JSON writer repairs text that is not UTF-8; here the repairs are counted.
std::string_view NestedWriter::repaired(std::string_view raw) {
  raw = whole_characters(raw, room_);
  if (!is_utf8(raw)) sink_.count(Loss::kTextRepaired);
  return raw;
}

}  // namespace fathom::collector
