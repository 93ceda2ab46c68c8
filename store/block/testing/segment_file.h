// A whole segment as one file: what golden files and fuzzers' seeds are.
//
// Records of {block u32, column u32, size u32, bytes}; the directory is the record of block kDirectoryRecord.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "store/block/segment_writer.h"

namespace fathom::store::block {

inline constexpr uint32_t kDirectoryRecord = UINT32_MAX - 1;

inline std::string to_file(const EncodedSegment& segment) {
  std::string file;
  ByteWriter out(file);
  auto record = [&](uint32_t block, uint32_t column, std::string_view bytes) {
    out.u32(block);
    out.u32(column);
    out.u32(static_cast<uint32_t>(bytes.size()));
    out.raw(bytes);
  };
  record(kDirectoryRecord, 0, segment.directory);
  for (const Chunk& chunk : segment.chunks) record(chunk.block, chunk.column, chunk.bytes);
  return file;
}

// As much of a segment as the file holds.
inline EncodedSegment from_file(std::string_view file) {
  EncodedSegment segment;
  ByteReader in(file);
  while (!in.at_end()) {
    uint32_t block = in.u32(), column = in.u32(), size = in.u32();
    std::string_view bytes = in.raw(size);
    if (in.failed()) break;
    if (block == kDirectoryRecord) {
      segment.directory = bytes;
    } else {
      segment.chunks.push_back({block, column, std::string(bytes)});
    }
  }
  return segment;
}

}  // namespace fathom::store::block
