// Constants and codec of the spool's files; docs/formats/spool.md has the bytes in prose.
//
// Thread safety: pure functions. Errors: bytes that are not what they should be give nothing; every byte is hostile.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "node-agent/uplink/clock_offset.h"

namespace fathom::agent {

namespace spool_format {

inline constexpr uint64_t kFileMagic = 0x4c4f4f5053544146;  // "FATSPOOL"
inline constexpr uint32_t kVersion = 1;
inline constexpr size_t kFileHeadBytes = 48;
inline constexpr uint32_t kEntryMagic = 0x48435442;  // "BTCH"
inline constexpr size_t kEntryHeadBytes = 104;
inline constexpr size_t kStateOffset = 4;  // of an entry's state, from its begin
inline constexpr uint32_t kWaiting = 0;
inline constexpr uint32_t kDone = 1;
inline constexpr size_t kAlignment = 8;  // of entries
inline constexpr uint32_t kMostPayload = 64u << 20;

inline constexpr uint64_t padded(uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace spool_format

using BootId = std::array<uint8_t, 16>;

// A batch without its bytes.
struct SpoolHead {
  std::array<uint8_t, 16> identity{};
  uint32_t spans = 0;
  LocalInstant built;
  std::optional<ClockOffset> clock;
};

struct SpoolEntryHead {
  SpoolHead batch;
  uint32_t state = spool_format::kWaiting;
  uint32_t payload_bytes = 0;
  uint64_t payload_hash = 0;

  uint64_t total_bytes() const { return spool_format::kEntryHeadBytes + spool_format::padded(payload_bytes); }
};

std::string encode_file_head(const BootId& boot_id);
// A whole head, but of a version that this program does not know.
bool is_of_other_version(std::string_view bytes);
// The boot in which the file was written.
std::optional<BootId> decode_file_head(std::string_view bytes);

std::string encode_entry_head(const SpoolHead& batch, std::string_view payload);
std::optional<SpoolEntryHead> decode_entry_head(std::string_view bytes);
uint64_t hash_payload(std::string_view payload);

}  // namespace fathom::agent
