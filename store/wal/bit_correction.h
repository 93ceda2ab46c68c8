// Corrects one wrong bit in the payload of each fragment of a RocksDB log or manifest.
//
// Purpose: a manifest with a wrong bit lists the sorted files as before, if the bit is corrected. LogBlock corrects
// headers only. A checksum of 32 bits tells the place of one wrong bit in a payload of up to 32 KiB. Greater damage
// looks like one wrong bit in one of 16,000 cases, so a caller must check what it can: a repair checks that the files
// of a manifest exist. Thread safety: none needed. Memory: the file. Errors: failed reads and writes. Algorithm: the
// CRC of a message with a wrong bit differs from the right one by the CRC, without its constants, of that bit and the
// bytes behind it as zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <rocksdb/env.h>

#include "base/result.h"
#include "store/wal/log_block.h"

namespace fathom::store {

// The place of the bit, counted from the lowest bit of the first byte; nothing if no single bit explains the checksum.
std::optional<size_t> find_wrong_bit(FragmentType type, std::string_view payload, uint32_t checksum);

// Writes `from` to `to` with the corrections, and returns their number.
Result<size_t> copy_corrected(rocksdb::Env& env, const std::string& from, const std::string& to);

}  // namespace fathom::store
