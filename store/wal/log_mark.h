// LogMark: says in a log that is filled ahead of its records where the records end.
//
// Purpose: a write into bytes that a log already has changes no size. If a disk loses such a write, the length of the
// log does not show it; a mark does. Shapes: docs/formats/wal.md; a mark is the end of a page. A record may have any
// content, also that of a mark. The salt is a random number of each log, which no sender of spans can know. Thread
// safety and ownership: plain functions and values. Errors: bytes that are no mark are nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fathom::store {

// No type of a fragment, so that no fragment begins with it.
inline constexpr char kLogFillByte = '\xF5';
inline constexpr size_t kLogPageBytes = 4096;
inline constexpr size_t kLogMarkBytes = 40;
// How much of a log is filled at once. The last page of it ends with a mark.
inline constexpr uint64_t kLogFillBytes = 1 << 20;

struct LogMark {
  uint64_t log = 0;  // its number
  uint64_t salt = 0;
  uint64_t records_end = 0;  // the offset behind the last record that the sync of this mark makes durable

  std::string encoded() const;
  // The mark at the end of a page.
  static std::optional<LogMark> at_end_of(std::string_view page);
};

}  // namespace fathom::store
