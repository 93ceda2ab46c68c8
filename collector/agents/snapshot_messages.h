// The messages about snapshots: what an agent says, checked; what it is answered, encoded.
//
// Thread safety: pure functions. Ownership: a piece's content points into the message. Errors: kInvalid, in words.
// Hostility: every byte may be wrong.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collector/snapshot_sink.h"
#include "ingest/limits.h"

namespace fathom::collector {

// Of a message: a piece of the largest size, and its other fields.
inline constexpr uint64_t kMostSnapshotMessageBytes = ingest::kMostSnapshotPieceBytes + 4096;

Result<SnapshotPiece> parse_snapshot_piece(std::string_view message);
Result<std::vector<Sha256>> parse_image_names(std::string_view message);

// An error that may pass is RETRY.
std::string piece_reply(const Result<SnapshotPieceTaken>& taken, uint64_t retry_delay_nano);
std::string missing_images_reply(const std::vector<Sha256>& missing);
std::string missing_images_retry(uint64_t retry_delay_nano);

}  // namespace fathom::collector
