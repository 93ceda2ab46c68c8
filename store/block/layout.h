// Constants of the block format, version 4; docs/formats/block.md has the bytes in prose.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fathom::store::block {

inline constexpr uint8_t kVersion = 4;
inline constexpr uint8_t kFilterApart = 2;  // the first version in which the filter is a chunk of its own
inline constexpr uint8_t kFilterPages = 3;  // the first in which each block has a filter, in pages
inline constexpr uint8_t kFilterHalves =
    4;  // the first in which each block has one for its slow traces and one for the others

// Chunk numbers ("columns") within a block.
enum Column : uint32_t {
  kTracesColumn = 0,
  kTimesColumn = 1,
  kIdsColumn = 2,
  kShapesColumn = 3,
  kDetailsColumn = 4,
  kResourcesColumn = 5,
  kEventsColumn = 6,
  kLinksColumn = 7,
  kRestColumn = 8,
  kFirstKeyColumn = 16,  // + the key's number in the directory

  kFilterColumn = UINT32_MAX - 2,  // of the segment as a whole, in version 2; the engine has the two behind it
};

// BlockZone::flags: which optional chunks a block has, and what its rows hold.
inline constexpr uint8_t kHasErrors = 1;
inline constexpr uint8_t kHasEvents = 2;
inline constexpr uint8_t kHasLinks = 4;
inline constexpr uint8_t kHasRest = 8;

// A key earns a column of its own in a block when it has this many values there, and is among the most frequent ones.
inline constexpr uint32_t kRowsForOwnColumn = 16;
inline constexpr uint32_t kOwnColumnsPerBlock = 128;
inline constexpr uint32_t kOwnColumnsPerSegment = 4096;
// A directory lists this many keys at the most; a writer may list fewer. The rest are stored and searched, not listed.
inline constexpr uint32_t kMaxListedKeys = 8192;

// Limits that a decoder holds every input to, and an encoder its output.
inline constexpr uint32_t kMaxBlockRows = 1u << 16;
inline constexpr uint32_t kMaxEntries = 1u << 22;  // of any one array
inline constexpr size_t kMaxStreamBytes = 64u << 20;
inline constexpr size_t kSharedPageBytes = 256u << 10;  // of resources and scopes; a page ends when it has as many

// Filters: page p is chunk 0 of the block with this number + p.
inline constexpr uint32_t kFirstFilterPage = 1u << 31;
inline constexpr uint32_t kMaxFilterPages = 1u << 16;
inline constexpr size_t kFilterPageBytes = 8u << 10;  // about
inline constexpr uint32_t kBloomBitsPerPair = 10;
inline constexpr uint32_t kSlowOfTraces = 8;  // one trace in this many is slow

}  // namespace fathom::store::block
