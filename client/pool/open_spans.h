// Area 5 of a span pool: what is open now. The spans that are active in each thread, and the program's own triggers.
//
// Purpose: the agent sees a span that takes too long while it still runs, and what was open when a program died. The
// area ends where area 4 begins: a page of triggers, then Header::thread_slots slots. Written by the program alone.
// docs/formats/span-pool.md has the order of the stores. Hostility: a reader maps it, copies what it looks at, and
// believes nothing. Source of the idea: the record of a thread's context that OTEP 4947 defines, of which each level
// of a slot is one.
#pragma once

#include "client/pool/layout.h"

namespace fathom::pool {

// The first 28 bytes are the record of OTEP 4947, to which the thread's pointer otel_thread_ctx_v1 points.
struct alignas(64) OpenSpan {
  uint8_t trace_id[16];
  uint8_t span_id[8];
  volatile uint8_t valid;
  uint8_t flags;             // W3C's
  uint16_t attributes_size;  // always 0: of OTEP 4947
  uint8_t kind;              // OTLP's
  uint8_t unused;
  uint16_t name_bytes;  // of the whole name, of which `name` may have the beginning only
  // Zeroed first and stored last. What was read belongs together when this is the same before and after, is not zero,
  // and the slot's depth was beyond this level before and after.
  std::atomic<uint64_t> start_ticks;
  char name[88];  // padded with anything to whole words
};
static_assert(sizeof(OpenSpan) == 128 && offsetof(OpenSpan, start_ticks) == 32 && offsetof(OpenSpan, name) == 40);

inline constexpr uint32_t kOpenLevels = 7;
inline constexpr uint32_t kMostThreadSlots = 16 * 1024;  // a reader refuses more
inline constexpr uint32_t kDefaultThreadSlots = 1024;

struct alignas(128) ThreadSlot {
  std::atomic<uint32_t> owner_tid;  // 0: nobody's
  std::atomic<uint32_t> depth;      // spans that are open; those beyond kOpenLevels are counted and not described
  uint64_t unused[15];  // zero: as a record of OTEP 4947, which begins here when no span is open, it is not valid
  OpenSpan levels[kOpenLevels];  // the outermost first
};
static_assert(sizeof(ThreadSlot) == 1024);

// What fathom::trigger() says.
struct alignas(64) TriggerNote {
  // The ticket that it belongs to, plus one; stored last (release). Zeroed first.
  std::atomic<uint32_t> ticket_plus_one;
  uint32_t tid;
  uint64_t ticks;
  uint8_t trace_id[16];  // of the thread's active span; zero: it has none
  uint8_t span_id[8];
  uint16_t reason_bytes;
  char reason[86];
};
static_assert(sizeof(TriggerNote) == 128);

inline constexpr uint32_t kTriggerNotes = 31;

struct TriggerPage {
  alignas(128) std::atomic<uint32_t> tickets;  // notes so far; each takes the next place, and the oldest is lost
  std::atomic<uint32_t> ended;                 // 1: the program came to its orderly end (exit(), or main() returned)
  std::atomic<uint32_t> slots_present;         // those that were brought into use, from the first on
  TriggerNote notes[kTriggerNotes];
};
static_assert(sizeof(TriggerPage) == kPageBytes);

inline constexpr uint64_t open_area_bytes(uint32_t thread_slots) {
  return thread_slots == 0 ? 0 : kPageBytes + uint64_t{thread_slots} * sizeof(ThreadSlot);
}

}  // namespace fathom::pool
