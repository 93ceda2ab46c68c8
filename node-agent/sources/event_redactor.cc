#include "node-agent/sources/event_redactor.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/number_text.h"

namespace fathom::agent {

namespace {

bool is_text(pool::FieldType type) {
  return type == pool::FieldType::kString || type == pool::FieldType::kBytes;
}

bool is_text(capture::FieldType type) {
  return type == capture::FieldType::kText || type == capture::FieldType::kBytes;
}

std::string text_of_number(const FieldValue& value) {
  const pool::FieldType type = value.field->type;
  if (type <= pool::FieldType::kInt64) return number_text(value.integer);
  if (type <= pool::FieldType::kUint64) return number_text(value.natural);
  if (type <= pool::FieldType::kDouble) return number_text(value.real);
  return value.natural != 0 ? "true" : "false";
}

// `text`: of a natural number, which may be greater than any integer.
RedactValue redact_value_of(const FieldValue& value, std::string& text) {
  const pool::FieldType type = value.field->type;
  if (type <= pool::FieldType::kInt64) return RedactValue::of_int(value.integer);
  if (type <= pool::FieldType::kUint64) return RedactValue::of_text(text = number_text(value.natural));
  if (type <= pool::FieldType::kDouble) return RedactValue::of_double(value.real);
  if (type == pool::FieldType::kBool) return RedactValue::of_bool(value.natural != 0);
  return type == pool::FieldType::kString ? RedactValue::of_text(value.text) : RedactValue::of_bytes(value.text);
}

void write_number(const FieldValue& value, capture::EventValues& out) {
  const pool::FieldType type = value.field->type;
  if (type <= pool::FieldType::kInt64) return out.integer(value.integer);
  if (type <= pool::FieldType::kUint64) return out.natural(value.natural);
  if (type <= pool::FieldType::kDouble) return out.real(value.real);
  out.truth(value.natural != 0);
}

}  // namespace

bool EventRedactor::may_change(const Tracepoint& tracepoint) const {
  return rules_.has_value_rules() || std::ranges::any_of(tracepoint.fields, [this](const TracepointField& field) {
           return rules_.key_action(field.key).has_value();
         });
}

capture::Tracepoint EventRedactor::described(capture::Tracepoint plain, bool has_only_texts) const {
  std::vector<capture::Field> fields = std::exchange(plain.fields, {});
  for (capture::Field& field : fields) {
    const std::optional<RedactAction> action = rules_.key_action(field.key);
    if (action == RedactAction::kDrop) continue;
    if (action || (has_only_texts && !is_text(field.type))) field.type = capture::FieldType::kText;
    plain.fields.push_back(std::move(field));
  }
  return plain;
}

void EventRedactor::redact(std::span<const FieldValue> values) {
  values_.clear();
  needs_texts_ = false;
  for (const FieldValue& value : values) redact(value);
}

void EventRedactor::redact(const FieldValue& plain) {
  const std::string& key = plain.field->key;
  const std::optional<RedactAction> action = rules_.key_action(key);
  if (action == RedactAction::kDrop) return;
  Value& value = values_.emplace_back(Value{.plain = &plain});
  std::string text;
  const RedactOutcome outcome = rules_.attribute(key, redact_value_of(plain, text), value.text);
  if (outcome == RedactOutcome::kDropped) value.text.clear();
  value.is_changed = outcome != RedactOutcome::kKept;
  needs_texts_ = needs_texts_ || (value.is_changed && !action && !is_text(plain.field->type));
}

void EventRedactor::write(capture::EventValues& out) const {
  for (const Value& value : values_) {
    const bool has_text = is_text(value.plain->field->type);
    if (value.is_changed) {
      out.text(value.text, has_text && value.plain->cut);
    } else if (has_text) {
      out.text(value.plain->text, value.plain->cut);
    } else if (needs_texts_) {
      out.text(text_of_number(*value.plain), false);
    } else {
      write_number(*value.plain, out);
    }
  }
}

}  // namespace fathom::agent
