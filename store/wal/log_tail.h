// LogTail: the fill bytes and the marks behind the records of a log that is filled ahead of them.
//
// Purpose: records may themselves end with fill bytes, so `fill_begin` can lie within the last record. A reader reads
// whole fragments and stops at the first one that would begin at `fill_begin` or behind it. Records may also contain
// what looks like a mark. So the newest mark is one with nothing but fill bytes and zeros behind it, and the others
// have its salt. If that mark is damaged, there is none. Thread safety and ownership: a plain value. Errors: none;
// what cannot be read is no mark.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "store/wal/sector_reader.h"

namespace fathom::store {

struct LogTail {
  struct Mark {
    uint64_t offset = 0;
    uint64_t records_end = 0;
  };

  uint64_t fill_begin = UINT64_MAX;  // from here on, the file has nothing but fill bytes and marks
  std::vector<Mark> marks;

  // The greatest end of records that a mark at `offset` or behind it has. A mark in front of it is a record's content.
  std::optional<uint64_t> marked_end(uint64_t offset) const;
};

// `log`: the number of the log.
LogTail read_tail(SectorReader& file, uint64_t log);

}  // namespace fathom::store
