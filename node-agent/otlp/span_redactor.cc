#include "node-agent/otlp/span_redactor.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

#include "node-agent/otlp/pool_resource.h"

namespace fathom::agent {

namespace {

static_assert(sizeof(pool::ItemHead) + 1 + kRedactHashPrefix.size() + 32 <=
              SpanRedactor::kMostGrowth * (sizeof(pool::ItemHead) + 1));

uint64_t number_of(std::string_view bytes) {
  uint64_t number;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

// Nothing: the value is malformed, and the encoder leaves it out.
std::optional<RedactValue> value_of(const Item& item) {
  if (item.type == pool::ItemType::kString || item.type == pool::ItemType::kCut) {
    return RedactValue::of_text(item.value);
  }
  if (item.type == pool::ItemType::kBool && item.value.size() == 1) return RedactValue::of_bool(item.value[0] != 0);
  if (item.value.size() != sizeof(uint64_t)) return std::nullopt;
  const uint64_t bits = number_of(item.value);
  if (item.type == pool::ItemType::kInt) return RedactValue{RedactValue::Kind::kInt, {}, bits};
  if (item.type == pool::ItemType::kDouble) return RedactValue{RedactValue::Kind::kDouble, {}, bits};
  return std::nullopt;
}

void count_dropped(pool::ItemTag tag, pool::SpanRecord& head) {
  uint16_t& count = tag == pool::ItemTag::kEvent  ? head.dropped_events
                    : tag == pool::ItemTag::kLink ? head.dropped_links
                                                  : head.dropped_attributes;
  if (count < UINT16_MAX) ++count;
}

}  // namespace

SpanRecordView SpanRedactor::redacted(const SpanRecordView& span) {
  SpanRecordView result = span;
  items_.clear();
  is_full_ = false;
  name_ = rules_->text(span.name);
  name_.resize(std::min<size_t>(name_.size(), pool::kMostRecordBytes / 2));
  ItemReader reader(span.items);
  for (Item item; reader.next(item);) redact(item, result.head);
  // As the encoder does: what follows the first malformed item is lost, and counted there.
  if (reader.failed()) items_.push_back('\0');
  result.name = name_;
  result.items = items_;
  return result;
}

void SpanRedactor::redact(const Item& item, pool::SpanRecord& head) {
  switch (item.tag) {
    case pool::ItemTag::kAttribute:
    case pool::ItemTag::kDetail:
      return redact_attribute(item, head);
    case pool::ItemTag::kEvent:   // the key is the event's name,
    case pool::ItemTag::kLink: {  // or the link's trace state
      const std::string key = rules_->text(item.key);
      return append({item.tag, item.type, key, item.value}, head);
    }
    default: {
      const std::string value = rules_->text(item.value);
      return append({item.tag, item.type, item.key, value}, head);
    }
  }
}

void SpanRedactor::redact_attribute(const Item& item, pool::SpanRecord& head) {
  const std::optional<RedactValue> value = value_of(item);
  const RedactOutcome outcome = value ? rules_->attribute(item.key, *value, value_) : RedactOutcome::kKept;
  if (outcome == RedactOutcome::kKept) return append(item, head);
  if (outcome == RedactOutcome::kDropped) {  // as the server counts it, those of events and links nowhere
    if (item.tag == pool::ItemTag::kAttribute) count_dropped(item.tag, head);
    return;
  }
  const bool is_cut = item.type == pool::ItemType::kCut;
  append({item.tag, is_cut ? pool::ItemType::kCut : pool::ItemType::kString, item.key, value_}, head);
}

void SpanRedactor::append(const Item& item, pool::SpanRecord& head) {
  pool::ItemHead item_head{};
  const size_t bytes = sizeof item_head + item.key.size() + item.value.size();
  // Nor what follows: an attribute of an event would become one of the event before.
  is_full_ = is_full_ || sizeof head + name_.size() + items_.size() + bytes > pool::kMostRecordBytes;
  if (is_full_) return count_dropped(item.tag, head);
  item_head.tag = static_cast<uint8_t>(item.tag);
  item_head.type = static_cast<uint8_t>(item.type);
  item_head.key_bytes = static_cast<uint16_t>(item.key.size());
  item_head.value_bytes = static_cast<uint32_t>(item.value.size());
  items_.append(reinterpret_cast<const char*>(&item_head), sizeof item_head).append(item.key).append(item.value);
}

std::string redacted_resource(std::string_view rest, const Redaction& rules) {
  std::string resource;
  while (std::optional<ResourcePair> pair = next_pair(rest)) {
    std::string value;
    const RedactOutcome outcome = rules.attribute(pair->key, RedactValue::of_text(pair->value), value);
    if (outcome == RedactOutcome::kDropped) continue;
    append_pair(resource, pair->key, outcome == RedactOutcome::kChanged ? std::string_view(value) : pair->value);
  }
  return resource;
}

}  // namespace fathom::agent
