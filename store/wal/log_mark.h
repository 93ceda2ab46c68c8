// LogMark: says in a log that is filled ahead of its records where the records end.
//
// Purpose: a write into bytes that a log already has changes no size. If a disk loses such a write, the length of the
// log does not show it; a mark does. Shapes: docs/formats/wal.md; a mark is the end of a page. Thread safety and
// ownership: plain functions and values. Errors: bytes that are no mark of this log are nothing.
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
inline constexpr size_t kLogMarkBytes = 32;
// How much of a log is filled at once. The last page of it ends with a mark.
inline constexpr uint64_t kLogFillBytes = 1 << 20;

// `records_end`: the offset behind the last record that the next sync makes durable.
std::string log_mark(uint64_t log, uint64_t records_end);
// The offset that the mark at the end of `page` has.
std::optional<uint64_t> records_end_in(std::string_view page, uint64_t log);

}  // namespace fathom::store
