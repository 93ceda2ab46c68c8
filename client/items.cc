#include "client/items.h"

#include <algorithm>

namespace fathom::client {
namespace {

constexpr fathom_text kNoText = {nullptr, 0};

void count_up(uint16_t& dropped) {
  if (dropped != UINT16_MAX) dropped++;
}

bool same_key(const char* item, fathom_text key) {
  return key.size == 0 || std::memcmp(item + sizeof(pool::ItemHead), key.data, key.size) == 0;
}

bool begins_details(uint8_t tag) {
  return tag == static_cast<uint8_t>(pool::ItemTag::kEvent) || tag == static_cast<uint8_t>(pool::ItemTag::kLink);
}

// No text may starve what the span is told later: one has half of a slab at most, and of the last eighth no more than a
// short one would.
constexpr size_t kMostTextBytes = pool::kMostRecordBytes / 2;
constexpr size_t kKeptBytes = pool::kMostRecordBytes / 8;
constexpr size_t kShortTextBytes = 256;
enum class Claim { kUsual, kLast };  // kLast: the status message, for which that room is kept

// Left of `capacity` behind what there is and `fixed` more bytes.
size_t left_of(uint32_t capacity, const SpanState& span, size_t fixed) {
  const size_t used = span.bytes + fixed;
  return capacity > used ? capacity - used : 0;
}

// How much of a text can stay behind `fixed` more bytes; a part of it is better than nothing.
size_t room_for_text(SpanState& span, size_t fixed, size_t size, Claim claim) {
  const size_t wanted = std::min(size, kMostTextBytes);
  const bool fits = reserve(span, fixed + wanted);
  if (fits && span.slab == 0) return wanted;
  if (span.slab == 0) grow(span, 0);
  if (claim == Claim::kLast) return std::min(wanted, left_of(most_bytes(span), span, fixed));
  const size_t left = left_of(capacity(span), span, fixed);
  const size_t kept = span.slab != 0 ? kKeptBytes : kInlineBytes / 8;
  return std::min(wanted, std::max(left > kept ? left - kept : 0, std::min(left, kShortTextBytes)));
}

// Room for the head, the key and the value; a text loses its end, anything else is dropped as a whole.
bool fit(SpanState& span, pool::ItemTag tag, fathom_text key, Value& value) {
  const size_t fixed = sizeof(pool::ItemHead) + key.size;
  if (value.type != pool::ItemType::kString || value.size == 0) return reserve(span, fixed + value.size);
  const Claim claim = tag == pool::ItemTag::kStatusMessage ? Claim::kLast : Claim::kUsual;
  const size_t room = room_for_text(span, fixed, value.size, claim);
  if (room == value.size) return true;
  if (room == 0) return false;
  value = {pool::ItemType::kCut, value.data, cut_size({value.data, value.size}, room)};
  count_loss(pool::kCutValues);
  return true;
}

bool set(SpanState& span, pool::ItemTag tag, fathom_text key, const Value& value) {
  if (key.size == 0) return false;
  if (const ItemSpan old = find_item(span, tag, key); old.begin != old.end) remove_item(span, old);
  return append_item(span, tag, key, value);
}

}  // namespace

ItemSpan find_item(const SpanState& span, pool::ItemTag tag, fathom_text key) {
  const char* bytes = record_bytes(span);
  const uint64_t wanted = pack_head(tag, pool::ItemType::kNone, key.size, 0);
  ItemSpan found = {0, 0};
  for (uint32_t at = items_begin(span), end = span.bytes; at < end;) {
    const uint64_t head = load_head(bytes + at);
    const uint32_t size = item_size(head);
    if ((head & kTagAndKeySize) == wanted && same_key(bytes + at, key)) found = {at, at + size};
    if (tag == pool::ItemTag::kDetail && begins_details(static_cast<uint8_t>(head))) found = {0, 0};
    at += size;
  }
  return found;
}

void remove_item(SpanState& span, ItemSpan item) {
  char* bytes = record_bytes(span);
  std::memmove(bytes + item.begin, bytes + item.end, span.bytes - item.end);
  span.bytes = static_cast<uint16_t>(span.bytes - (item.end - item.begin));
}

bool append_item(SpanState& span, pool::ItemTag tag, fathom_text key, Value value) {
  if (key.size > pool::kMostRecordBytes || !fit(span, tag, key, value)) return false;
  write_item(span, tag, key, value);
  return true;
}

void set_attribute(SpanState& span, fathom_text key, const Value& value) {
  if (set(span, pool::ItemTag::kAttribute, key, value)) return;
  count_up(record_of(span).dropped_attributes);
  count_loss(pool::kLostAttributes);
}

void set_text_slowly(SpanState& span, fathom_text key, fathom_text value) {
  set_attribute(span, checked(key), text_value(checked(value)));
}

void set_number_slowly(SpanState& span, fathom_text key, pool::ItemType type, uint64_t bits) {
  const size_t size = type == pool::ItemType::kBool ? 1 : sizeof bits;
  set_attribute(span, checked(key), {type, reinterpret_cast<const char*>(&bits), size});
}

void set_detail(SpanState& span, fathom_text key, const Value& value) {
  if ((span.flags & kDetailsDropped) == 0 && set(span, pool::ItemTag::kDetail, key, value)) return;
  count_loss(pool::kLostDetails);
}

void set_message(SpanState& span, fathom_text message) {
  if (const ItemSpan old = find_item(span, pool::ItemTag::kStatusMessage, kNoText); old.begin != old.end) {
    remove_item(span, old);
  }
  if (message.size == 0 || append_item(span, pool::ItemTag::kStatusMessage, kNoText, text_value(message))) return;
  count_loss(pool::kLostDetails);
}

void set_name(SpanState& span, fathom_text name) {
  const size_t before = record_of(span).name_bytes;
  size_t room = std::min(name.size, kMostTextBytes);
  if (room > before && !reserve(span, room - before)) {
    if (span.slab == 0) grow(span, 0);
    room = std::min(room, before + left_of(capacity(span), span, 0));
  }
  const size_t size = cut_size(name, room);
  if (size < name.size) count_loss(pool::kCutValues);
  char* at = record_bytes(span) + sizeof(pool::SpanRecord);
  std::memmove(at + size, at + before, span.bytes - items_begin(span));
  if (size != 0) std::memcpy(at, name.data, size);
  record_of(span).name_bytes = static_cast<uint16_t>(size);
  span.bytes = static_cast<uint16_t>(span.bytes + size - before);
}

void add_event(SpanState& span, fathom_text name) {
  const uint64_t now = ticks();
  char time[8];
  std::memcpy(time, &now, sizeof time);
  // The name is the key here, and the one that can be cut.
  constexpr size_t kFixed = sizeof(pool::ItemHead) + sizeof time;
  const size_t size = cut_size(name, room_for_text(span, kFixed, name.size, Claim::kUsual));
  const bool added =
      append_item(span, pool::ItemTag::kEvent, {name.data, size}, {pool::ItemType::kNone, time, sizeof time});
  span.flags = static_cast<uint8_t>(added ? span.flags & ~kDetailsDropped : span.flags | kDetailsDropped);
  if (added && size < name.size) count_loss(pool::kCutValues);
  if (added) return;
  count_up(record_of(span).dropped_events);
  count_loss(pool::kLostDetails);
}

void add_link(SpanState& span, const fathom_context& other) {
  char ids[25];
  std::memcpy(ids, other.trace_id, 16);
  std::memcpy(ids + 16, other.span_id, 8);
  ids[24] = static_cast<char>(stored_flags(other));
  const fathom_text state = {other.state, std::min<size_t>(other.state_size, sizeof other.state)};
  const bool added = append_item(span, pool::ItemTag::kLink, state, {pool::ItemType::kNone, ids, sizeof ids});
  span.flags = static_cast<uint8_t>(added ? span.flags & ~kDetailsDropped : span.flags | kDetailsDropped);
  if (added) return;
  count_up(record_of(span).dropped_links);
  count_loss(pool::kLostDetails);
}

void put_state(SpanState& span, fathom_text tracestate) {
  if (tracestate.size == 0) return;
  // A part of a tracestate is none.
  const bool room = reserve(span, sizeof(pool::ItemHead) + tracestate.size);
  if (room) {
    write_item(span, pool::ItemTag::kTraceState, kNoText, text_value(tracestate));
    span.flags |= kHasState;
  } else {
    count_loss(pool::kLostDetails);
  }
}

fathom_text get_state(const SpanState& span) {
  // A fork's child has its parent's spans, but not the slabs that they borrowed.
  if ((span.flags & kHasState) == 0 || (span.slab != 0 && !is_ours(span))) return kNoText;
  const char* item = record_bytes(span) + items_begin(span);
  return {item + sizeof(pool::ItemHead), static_cast<size_t>(load_head(item) >> 32)};
}

}  // namespace fathom::client
