// The constants of a snapshot's file: docs/formats/snapshot.md says what they mean.
#pragma once

#include <cstdint>
#include <string_view>

namespace fathom::snapshot {

inline constexpr std::string_view kSnapshotMagic = "FTHMSNAP";
inline constexpr uint32_t kSnapshotVersion = 1;
inline constexpr uint64_t kHeaderBytes = 16;   // magic, version, zero
inline constexpr uint64_t kTrailerBytes = 32;  // metadata's place, bytes, xxh3; magic
inline constexpr uint64_t kMostMetadataBytes = 256u << 20;

}  // namespace fathom::snapshot
