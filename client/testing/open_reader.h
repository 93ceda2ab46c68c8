// Reads area 5 of a span pool as an agent would: what is open, and what the program triggered. For tests.
//
// Written from docs/formats/span-pool.md, independently of client/open_spans.h. Thread safety: the writers go on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/pool/open_spans.h"

namespace fathom::client::testing {

struct ReadLevel {
  uint64_t start_ticks = 0;
  std::string trace_id, span_id;  // hex
  std::string name;               // what is there of it
  uint32_t name_bytes = 0;        // of all of it
  uint8_t kind = 0, flags = 0;
};

struct ReadSlot {
  uint32_t tid = 0;
  uint32_t depth = 0;
  std::vector<std::optional<ReadLevel>> levels;  // of those that are open; nothing: not described just now
};

struct ReadNote {
  uint32_t ticket = 0;
  uint32_t tid = 0;
  uint64_t ticks = 0;
  std::string trace_id, span_id;
  std::string reason;
};

class OpenReader {
 public:
  // A pool in memory, this process's or another one's.
  explicit OpenReader(const char* base);
  static OpenReader of_this_process();

  uint32_t count() const { return count_; }
  // Nothing: nobody's.
  std::optional<ReadSlot> slot(uint32_t number) const;
  std::optional<ReadSlot> slot_of(uint32_t tid) const;
  std::vector<ReadSlot> slots() const;  // those that are somebody's
  std::vector<ReadNote> notes() const;  // the oldest first
  bool ended() const;

 private:
  std::optional<ReadLevel> level(const pool::ThreadSlot& slot, uint32_t number) const;
  const pool::TriggerPage* page_ = nullptr;
  const pool::ThreadSlot* slots_ = nullptr;
  uint32_t count_ = 0;
};

}  // namespace fathom::client::testing
