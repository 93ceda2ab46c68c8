// The chunks that every row has a part in: traces, times, ids. Each encoder stands beside its decoder.
//
// Purpose: pure functions between arrays and chunk bodies. What one chunk says another does not repeat: the row that is
// its trace's root takes start, duration and span id from the trace's summary, so decoding times and ids needs the
// traces. Thread safety: functions. Errors: decoders treat bodies as hostile and return false.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/block/block_rows.h"
#include "store/block/packing.h"
#include "store/block/segment_reader.h"

namespace fathom::store::block {

// The traces of a block, and for each the row (within its piece) that is the root of its summary, or kNone.
struct DecodedTraces {
  std::vector<BlockTrace> traces;
  std::vector<uint32_t> root_row;
};

std::string encode_traces(const BlockRows& rows, Packer& packer);
bool decode_traces(const ChunkBody& body, const BlockZone& zone, DecodedTraces& out);

// Everything of the times chunk, in the form in which the spans were sent.
struct DecodedTimes {
  std::vector<uint32_t> operation_index;  // into the zone's operations
  std::vector<uint64_t> start_unix_nano;  // corrected
  std::vector<uint64_t> sent_unix_nano;
  std::vector<uint64_t> length_nano;  // end less start, as sent: may wrap
  std::vector<uint64_t> sequence;
  std::vector<uint8_t> status;
  std::vector<uint8_t> conflicting;
  std::vector<uint32_t> clock;  // into `clocks`
  std::vector<std::optional<ClockOffset>> clocks;
};

std::string encode_times(const BlockRows& rows, Packer& packer);
bool decode_times(const ChunkBody& body, const BlockZone& zone, const DecodedTraces& traces, DecodedTimes& out);
// Just the first array: what other columns are predicted from.
bool decode_operations(const ChunkBody& body, const BlockZone& zone, std::vector<uint32_t>& operation_index);

std::string encode_ids(const BlockRows& rows, Packer& packer);
bool decode_ids(const ChunkBody& body, const BlockZone& zone, const DecodedTraces& traces, BlockIds& out);

}  // namespace fathom::store::block
