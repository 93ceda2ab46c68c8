// Packets by kind, by libipt's packet decoder over a snapshot's streams.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "snapshot/format/snapshot_file.h"

namespace fathom::snapshot {

// The bytes of a stream, its pieces one behind the other.
std::vector<uint8_t> stream_bytes(const SnapshotFile& file, const Stream& stream);
std::map<std::string, uint64_t> count_packets(const SnapshotFile& file);

}  // namespace fathom::snapshot
