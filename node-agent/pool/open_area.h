// OpenArea: what a program's threads have open now, read from memory that they change while we look.
//
// Purpose: the reader's half of client/pool/open_spans.h: open spans by slot and level, the program's own triggers, and
// whether it came to its orderly end. Thread safety: reading from any threads. Ownership: of a mapping of its own, so
// that it may outlive the pool's reader; of the descriptor with it. Errors: map() fails where the system does not let
// us. Hostility: the area is mapped read-only; the file is sealed against shrinking, so what is looked at is there, or
// is made by the look, 16 MiB at most; all that is looked at is copied, by words, and believed only where it was the
// same before and after. Texts may have any bytes. The system is asked nothing about the file: a program can make such
// a question take as long as it likes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "node-agent/pool/pool_file.h"

namespace fathom::agent {

struct OpenSpanCopy {
  TraceId trace_id;
  SpanId span_id;
  uint64_t start_ticks = 0;
  uint8_t kind = 0;         // OTLP's
  uint16_t name_bytes = 0;  // of the whole name
  std::array<char, 88> begin_of_name{};

  // Its first bytes, where it is longer.
  std::string_view name() const { return {begin_of_name.data(), std::min<size_t>(name_bytes, begin_of_name.size())}; }
};

struct ThreadSpan {
  uint32_t slot = 0;
  uint32_t level = 0;
  uint32_t tid = 0;  // as the program sees it
  OpenSpanCopy span;
};

struct ProgramTrigger {
  uint32_t tid = 0;
  uint64_t ticks = 0;
  TraceId trace_id;  // zero: outside of spans
  SpanId span_id;
  std::string reason;
};

class OpenArea {
 public:
  static constexpr size_t kMostOpen = 16 * 1024;  // in one copy
  // kNotFound: the pool has none, as of earlier clients.
  static Result<std::shared_ptr<const OpenArea>> map(const PoolFile& file);
  OpenArea(const OpenArea&) = delete;
  OpenArea& operator=(const OpenArea&) = delete;
  ~OpenArea();

  uint32_t slots() const { return slots_; }
  uint32_t owner(uint32_t slot) const { return slot_at(slot).owner_tid.load(std::memory_order_acquire); }
  // Of those that are described.
  uint32_t depth(uint32_t slot) const {
    return std::min(slot_at(slot).depth.load(std::memory_order_acquire), pool::kOpenLevels);
  }
  // A look at one word: 0 while it changes.
  uint64_t start_ticks(uint32_t slot, uint32_t level) const {
    return slot_at(slot).levels[level].start_ticks.load(std::memory_order_relaxed);
  }
  // Nothing: not open, or changed meanwhile.
  std::optional<OpenSpanCopy> read(uint32_t slot, uint32_t level) const;
  // Slots from here on were never used: as many are before as threads were there at once.
  uint32_t end_of_used() const { return std::min(triggers().slots_present.load(std::memory_order_acquire), slots_); }
  // All that is open, the outermost of each thread first; of so many slots at most, and kMostOpen of all, about.
  std::vector<ThreadSpan> all_open(uint32_t most_slots = pool::kMostThreadSlots) const;

  bool ended() const { return triggers().ended.load(std::memory_order_acquire) != 0; }
  // Of the next trigger to come.
  uint32_t next_ticket() const { return triggers().tickets.load(std::memory_order_acquire); }
  // Triggers from `ticket` on, which is counted up by those that are returned or lost. One that is not complete yet
  // ends the list, unless `give_up`: then it is lost.
  struct Triggers {
    std::vector<ProgramTrigger> triggers;
    uint64_t lost = 0;
    bool waits = false;  // for one that is not complete
  };
  Triggers new_triggers(uint32_t& ticket, bool give_up) const;

 private:
  OpenArea(char* mapping, uint32_t slots) : page_(mapping), slots_(slots) {}

  const pool::TriggerPage& triggers() const { return *reinterpret_cast<const pool::TriggerPage*>(page_); }
  const pool::ThreadSlot& slot_at(uint32_t slot) const {
    return reinterpret_cast<const pool::ThreadSlot*>(page_ + pool::kPageBytes)[slot];
  }
  std::optional<ProgramTrigger> read_trigger(uint32_t ticket) const;

  char* const page_;
  const uint32_t slots_;
};

}  // namespace fathom::agent
