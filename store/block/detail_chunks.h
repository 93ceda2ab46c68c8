// The chunks that only whole spans need: details (name, kind, scope, messages), resources, events, links.
//
// Purpose: pure functions between gathered rows and chunk bodies. Names, kinds, scopes and resources are written as
// what the row's operation predicts. Ownership: decoded tables view the chunk and own what they unpacked; they must
// stay where they are while views of them are used. Thread safety: functions. Errors: decoders return false.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/block/block_rows.h"
#include "store/block/columns.h"
#include "store/block/segment_reader.h"

namespace fathom::store::block {

// A column, decoded whole.
struct DecodedColumn {
  std::vector<ValueView> values;
  std::vector<uint32_t> codes;
  ValueTable table;  // what the values' texts may point into

  bool read(ChunkReader& in, Arena& arena);
  const ValueView& at(size_t entry) const { return values[codes[entry]]; }
};

struct DecodedDetails {
  std::vector<ValueView> names;
  ValueTable name_table;
  std::vector<uint32_t> name;  // into `names`
  std::vector<uint32_t> kind, scope;
  std::vector<uint32_t> flags, dropped_attributes, dropped_events, dropped_links;
  DecodedColumn messages, trace_states;
};

std::string encode_details(const BlockRows& rows, Packer& packer);
bool decode_details(const ChunkBody& body, const BlockZone& zone, std::span<const uint32_t> operation_index,
                    Arena& arena, DecodedDetails& out);

std::string encode_resources(const BlockRows& rows, Packer& packer);
bool decode_resources(const ChunkBody& body, const BlockZone& zone, std::span<const uint32_t> operation_index,
                      std::vector<uint32_t>& out);

struct DecodedLists {
  std::vector<uint32_t> counts;
  DecodedColumn keys, values;

  bool read(ChunkReader& in, size_t lists, Arena& arena);
};

struct DecodedEvents {
  std::vector<uint32_t> counts;  // per row
  std::vector<uint64_t> times;   // zigzag of time less the row's start
  DecodedColumn names;
  std::vector<uint32_t> dropped;
  DecodedLists attributes;
};

std::string encode_events(const BlockRows& rows, Packer& packer);
bool decode_events(const ChunkBody& body, const BlockZone& zone, Arena& arena, DecodedEvents& out);

struct DecodedLinks {
  std::vector<uint32_t> counts;  // per row
  std::string_view ids;          // 24 bytes each
  std::string ids_buffer;
  DecodedColumn trace_states;
  std::vector<uint32_t> flags, dropped;
  DecodedLists attributes;
};

std::string encode_links(const BlockRows& rows, Packer& packer);
bool decode_links(const ChunkBody& body, const BlockZone& zone, Arena& arena, DecodedLinks& out);

}  // namespace fathom::store::block
