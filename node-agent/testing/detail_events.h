// Numbered events for tests of detail pools: their payloads can be checked by themselves.
#pragma once

#include <cstring>
#include <optional>
#include <string>

#include "node-agent/detail/event_decoder.h"
#include "node-agent/testing/scripted_detail.h"

namespace fathom::agent::testing {

inline constexpr uint32_t kNumberedKind = 16;

inline uint32_t checksum(uint64_t number, std::string_view fill) {
  uint64_t sum = number * 0x9e3779b97f4a7c15;
  for (char c : fill) sum = (sum ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return static_cast<uint32_t>(sum >> 32 ^ sum);
}

inline void describe_numbered(ScriptedDetail& pool) {
  pool.describe(
      kNumberedKind, "numbered",
      {{pool::FieldType::kUint64, "number"}, {pool::FieldType::kString, "fill"}, {pool::FieldType::kUint32, "sum"}});
}

inline std::string numbered_record(uint64_t number, uint64_t ticks, size_t fill_bytes = 0) {
  std::string fill(fill_bytes, static_cast<char>('a' + number % 26));
  return detail_record(kNumberedKind, ticks, raw(number) + sized(fill) + raw(checksum(number, fill)));
}

// Nothing: it is torn.
inline std::optional<uint64_t> number_of(const EventView& event) {
  if (event.values.size() != 3 || event.tracepoint->kind != kNumberedKind) return std::nullopt;
  uint64_t number = event.values[0].natural;
  if (event.values[2].natural != checksum(number, event.values[1].text)) return std::nullopt;
  return number;
}

inline DetailFile open_detail(const ScriptedDetail& pool) {
  Result<DetailFile> opened = DetailFile::open(pool.descriptor(), 0);
  if (!opened) std::abort();
  return *std::move(opened);
}

}  // namespace fathom::agent::testing
