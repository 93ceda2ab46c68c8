// ScriptedDetail: a program's detail pool that a test writes by hand, with nothing but client/pool/detail_layout.h.
//
// Thread safety: as the layout's atomics. Ownership: of its file and its mapping; descriptor() gives copies away.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "client/pool/detail_layout.h"

namespace fathom::agent::testing {

// ---- whole records, without their epochs

std::string detail_record(uint32_t kind, uint64_t ticks, std::string_view payload);  // the form is the payload's
std::string long_detail_record(uint32_t kind, uint64_t ticks, std::string_view payload);
std::string owner_record(uint32_t tid, uint64_t ticks);
std::string spans_record(uint64_t ticks, const std::vector<uint8_t>& spans, pool::DetailKind kind = pool::kSpans);
std::string pad_record(uint32_t bytes);
pool::SpanRef span_ref(uint8_t number);

// ---- payloads

template <typename Number>
std::string raw(Number number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}
inline std::string sized(std::string_view text, bool cut = false) {
  return raw(static_cast<uint16_t>(text.size() | (cut ? pool::kCutBit : 0))).append(text);
}

using DetailFields = std::vector<std::pair<pool::FieldType, std::string>>;
// A description as the table has it.
std::string table_entry(uint32_t kind, std::string_view name, const DetailFields& fields,
                        std::string_view file = "place.cc", uint32_t line = 7);

struct DetailPlan {
  uint32_t large = 8;
  uint32_t small = 8;
  pool::DetailMode mode = pool::DetailMode::kOverwrite;
  pool::Clock clock = pool::Clock::kMonotonic;
  int seals = -1;            // all
  uint32_t first_epoch = 3;  // programs begin anywhere, so that nothing else looks like it
};

class ScriptedDetail {
 public:
  explicit ScriptedDetail(const DetailPlan& plan = {});
  ScriptedDetail(const ScriptedDetail&) = delete;
  ScriptedDetail& operator=(const ScriptedDetail&) = delete;
  ~ScriptedDetail();

  Fd descriptor() const;
  uint64_t bytes() const { return bytes_; }
  char* memory() { return memory_; }
  pool::DetailHeader& header() { return *reinterpret_cast<pool::DetailHeader*>(memory_); }
  pool::DetailEntry& entry(uint32_t chunk) {
    return reinterpret_cast<pool::DetailEntry*>(memory_ + pool::kPageBytes)[chunk];
  }
  uint32_t chunk_bytes(uint32_t number) const { return number < plan_.large ? pool::kLargeBytes : pool::kSmallBytes; }
  char* chunk(uint32_t number);
  char* table();
  // Behind the others.
  // Returns the description's place in the table.
  uint32_t describe(uint32_t kind, std::string_view name, const DetailFields& fields);
  void switch_tracepoint(uint32_t place, bool on);

  // ---- the writer's steps, each by itself
  // Its new epoch; 0: not to be had.
  uint32_t claim(uint32_t chunk, uint64_t first_ticks, uint32_t tid = 1);
  // Where the record will be; nothing when it does not fit.
  uint32_t reserve(uint32_t chunk, size_t bytes);
  void write(uint32_t chunk, uint32_t at, const std::string& record);  // all but the epoch
  void commit(uint32_t chunk, uint32_t at);
  void seal(uint32_t chunk, uint64_t last_ticks);
  // All of it. False when the chunk is full.
  bool put(uint32_t chunk, const std::string& record);

  uint64_t word(uint32_t chunk) { return entry(chunk).state.load(); }
  pool::DetailState state(uint32_t chunk) { return pool::state_of(word(chunk)); }
  uint32_t epoch(uint32_t chunk) { return pool::epoch_of(word(chunk)); }
  uint32_t used(uint32_t chunk) const { return used_[chunk]; }

 private:
  DetailPlan plan_;
  Fd descriptor_;
  uint64_t bytes_ = 0;
  char* memory_ = nullptr;
  uint32_t table_used_ = 0;
  std::vector<uint32_t> used_;  // the owner's own: what is reserved of each chunk
};

}  // namespace fathom::agent::testing
