// What a span is told: attributes, events, links, status message, tracestate, as items behind its name.
//
// Purpose: adding, replacing and finding items in the record of an open span. Thread safety: one thread at a time.
// Errors: what does not fit is dropped, or cut where it is a text; both are counted where it happens.
#pragma once

#include "client/span_state.h"

namespace fathom::client {

struct Value {
  pool::ItemType type;
  const char* data;
  size_t size;
};
inline Value text_value(fathom_text text) {
  return {pool::ItemType::kString, text.data, text.size};
}

// As one word: how it is written and compared.
inline uint64_t pack_head(pool::ItemTag tag, pool::ItemType type, size_t key_bytes, size_t value_bytes) {
  return static_cast<uint64_t>(tag) | static_cast<uint64_t>(type) << 8 | static_cast<uint64_t>(key_bytes) << 16 |
         static_cast<uint64_t>(value_bytes) << 32;
}
struct ItemSpan {
  uint32_t begin;
  uint32_t end;  // equal: none
};

inline constexpr uint64_t kTagAndKeySize = 0xffff00ff;  // of a head

inline uint64_t load_head(const char* at) {
  uint64_t head;
  std::memcpy(&head, at, sizeof head);
  return head;
}
inline uint32_t item_size(uint64_t head) {
  return static_cast<uint32_t>(sizeof(pool::ItemHead) + (head >> 16 & 0xffff) + (head >> 32));
}

// The item with this tag and key; of details, one of the last event or link only.
ItemSpan find_item(const SpanState& span, pool::ItemTag tag, fathom_text key);
void remove_item(SpanState& span, ItemSpan item);

// At the end of the record, where room has been made.
inline void write_item(SpanState& span, pool::ItemTag tag, fathom_text key, const Value& value) {
  char* to = record_bytes(span) + span.bytes;
  const uint64_t head = pack_head(tag, value.type, key.size, value.size);
  std::memcpy(to, &head, sizeof head);
  copy_text(to + sizeof head, key.data, key.size);
  copy_text(to + sizeof head + key.size, value.data, value.size);
  span.bytes = static_cast<uint16_t>(span.bytes + sizeof head + key.size + value.size);
}

void set_attribute(SpanState& span, fathom_text key, const Value& value);
// Out of line, and with what fits into registers.
void set_text_slowly(SpanState& span, fathom_text key, fathom_text value);
void set_number_slowly(SpanState& span, fathom_text key, pool::ItemType type, uint64_t bits);

inline bool has_key_of_size(const SpanState& span, size_t size) {
  const char* at = span.text + span.record.name_bytes;
  const char* end = reinterpret_cast<const char*>(&span.record) + span.bytes;
  const uint64_t wanted = pack_head(pool::ItemTag::kAttribute, pool::ItemType::kNone, size, 0);
  for (; at != end; at += item_size(load_head(at))) {
    if (unlikely((load_head(at) & kTagAndKeySize) == wanted)) return true;
  }
  return false;
}

// In the caller's memory.
inline bool fits_simply(const SpanState& span, fathom_text key, size_t value_size) {
  return span.slab == 0 && key.data != nullptr && key.size - 1 < sizeof span.text && value_size <= sizeof span.text &&
         span.bytes + sizeof(pool::ItemHead) + key.size + value_size <= kInlineBytes;
}

// Where it fits simply, and is not there yet.
FATHOM_INLINED void add_attribute(SpanState& span, fathom_text key, const Value& value) {
  char* to = reinterpret_cast<char*>(&span.record) + span.bytes;
  const uint64_t head = pack_head(pool::ItemTag::kAttribute, value.type, key.size, value.size);
  std::memcpy(to, &head, sizeof head);
  copy_text(to + sizeof head, key.data, key.size);
  copy_text(to + sizeof head + key.size, value.data, value.size);
  span.bytes = static_cast<uint16_t>(span.bytes + sizeof head + key.size + value.size);
}

// For what nearly always is so: room in the caller's memory, and a key of another size than those before, which are
// few. Inline, so that the sizes of numbers are known when it is compiled, and without a call on the way, so that no
// register has to be put by.
FATHOM_INLINED void set_text(SpanState& span, fathom_text key, fathom_text value) {
  const bool simple = value.data != nullptr && fits_simply(span, key, value.size);
  if (unlikely(!simple || has_key_of_size(span, key.size))) return set_text_slowly(span, key, value);
  add_attribute(span, key, text_value(value));
}
template <typename T>
FATHOM_INLINED void set_number(SpanState& span, fathom_text key, pool::ItemType type, T value) {
  if (unlikely(!fits_simply(span, key, sizeof value) || has_key_of_size(span, key.size))) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return set_number_slowly(span, key, type, bits);
  }
  add_attribute(span, key, {type, reinterpret_cast<const char*>(&value), sizeof value});
}

// False when it was dropped.
bool append_item(SpanState& span, pool::ItemTag tag, fathom_text key, Value value);
void set_detail(SpanState& span, fathom_text key, const Value& value);
void set_message(SpanState& span, fathom_text message);
void set_name(SpanState& span, fathom_text name);
void add_event(SpanState& span, fathom_text name);
void add_link(SpanState& span, const fathom_context& other);
// The first item, before any other.
void put_state(SpanState& span, fathom_text tracestate);
fathom_text get_state(const SpanState& span);

}  // namespace fathom::client
