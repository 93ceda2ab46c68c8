// The C interface of events: what the macros of fathom/event_c.h call.
#include "client/detail/tracepoints.h"
#include "client/detail/writer.h"
#include "client/fathom/event_c.h"
#include "client/process.h"

namespace fathom::client::detail {
namespace {

constexpr uint32_t kMostPayload = pool::kMostEventBytes - pool::kLeastRecordBytes;

bool is_text(const fathom_value& value) {
  return value.type >= FATHOM_TEXT;
}

// Texts have what the other values leave, first come, first served. Returns the payload's bytes.
uint32_t cut_to_fit(fathom_value* values, uint32_t count, bool* cut) {
  uint32_t payload = 0;
  for (uint32_t i = 0; i < count; i++) payload += is_text(values[i]) ? 2 : values[i].bytes;
  for (uint32_t i = 0; i < count; i++) {
    if (!is_text(values[i])) continue;
    const uint32_t room = kMostPayload - payload;
    cut[i] = values[i].bytes > room;
    if (cut[i]) values[i].bytes = room;
    payload += values[i].bytes;
  }
  return payload;
}

char* put_value(char* to, const fathom_value& value, bool cut) {
  char* end = fathom_payload_put(to, value.type, value.bytes, value.word, value.data);
  if (!cut) return end;
  const auto size = static_cast<uint16_t>(value.bytes | pool::kCutBit);
  std::memcpy(to, &size, sizeof size);
  count_loss(pool::kCutTexts);
  return end;
}

void put_payload(char* to, const fathom_value* values, uint32_t count, uint32_t payload, const bool* cut) {
  std::memcpy(to, &payload, sizeof payload);
  to += sizeof payload;
  for (uint32_t i = 0; i < count; i++) to = put_value(to, values[i], cut[i]);
}

uint32_t count_of(const fathom_value* values) {
  uint32_t count = 0;
  while (count < pool::kMostFields && values[count].type != 0) count++;
  return count;
}

}  // namespace
}  // namespace fathom::client::detail

using namespace fathom::client;
namespace pool = fathom::pool;

extern "C" {

fathom_place fathom_place_v1(uint64_t at, uint32_t bytes, uint32_t head) {
  const fathom_place place = detail::place(at, bytes);
  if (place.at != nullptr) {
    const uint64_t now = ticks();
    fathom_begin_record(place.at, static_cast<uint32_t>(now), static_cast<uint32_t>(now >> 32), head);
  }
  return place;
}

fathom_place fathom_reserve_v1(uint32_t bytes, uint32_t head) {
  std::atomic_ref<uint64_t> cursor(fathom_writer_v1.cursor);
  return fathom_place_v1(cursor.fetch_add(bytes, std::memory_order_acq_rel), bytes, head);
}

void fathom_commit_v1(uint32_t bytes) {
  std::atomic_ref<uint64_t>(fathom_writer_v1.committed).fetch_add(bytes, std::memory_order_acq_rel);
}

uint32_t fathom_meet_v1(fathom_tracepoint* point, fathom_module* module, const char* const* keys,
                        const uint8_t* types) {
  return detail::meet(*point, *module, keys, types);
}

void fathom_long_event_v1(uint32_t head, const fathom_value* values) {
  fathom_value fitting[pool::kMostFields];
  bool cut[pool::kMostFields] = {};
  const uint32_t count = detail::count_of(values);
  for (uint32_t i = 0; i < count; i++) fitting[i] = values[i];
  const uint32_t payload = detail::cut_to_fit(fitting, count, cut);
  const uint32_t bytes = (pool::kLeastRecordBytes + payload + 7) / 8 * 8;
  const fathom_place place = fathom_reserve_v1(bytes, head | pool::kLongWords);
  if (place.at == nullptr) return;
  detail::put_payload(place.at + pool::kPayloadOffset, fitting, count, payload, cut);
  fathom_close_v1({place.at, place.epoch, bytes});
}

void fathom_leave_module_v1(fathom_module* module) {
  detail::leave(*module);
}

uint64_t fathom_lost_events(void) {
  return detail::lost_events();
}
}
