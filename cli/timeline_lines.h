// The lines of one thread of a timeline: spans, events, system calls, waits and page faults, in order of time.
//
// Purpose: separates the lines and their texts from their layout (timeline_text.h), folding (timeline_fold.h) and
// selection (timeline_fit.h). Thread safety: pure functions. Ownership: copies.
#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/repeat.h"

namespace fathom::cli {

enum class TimelineLineKind { kSpan, kEvent, kCall, kWait, kFault, kGap };

// Page faults that one line tells of.
struct FaultRun {
  uint64_t count = 0;
  uint64_t writes = 0;
  uint64_t low = 0, high = 0;  // addresses
};

struct TimelineLine {
  TimelineLineKind kind = TimelineLineKind::kSpan;
  int64_t offset_nano = 0;
  std::optional<uint64_t> duration_nano;  // nothing: it is a moment
  std::string text;
  std::vector<std::string> below;  // what else it says, a line each
  bool error = false;
  bool open = false;  // a span that was not over
  size_t depth = 0;   // so many spans and system calls are around it
  FaultRun faults = {};
  std::optional<Repeat> repeat = {};  // of a wait or a finished call: what it shares with others

  // `later` is of page faults, as this one is.
  void add_faults(const TimelineLine& later);
  // Adds `later`, which is of the same kind (timeline_fold.h).
  void add_alike(const TimelineLine& later);
  bool is_folded() const { return repeat && repeat->lasted.count > 1; }
  // The thread's time that the line covers.
  uint64_t told_nano() const { return is_folded() ? repeat->lasted.total_nano : duration_nano.value_or(0); }
  int64_t end_nano() const;
};

struct ThreadLines {
  std::vector<TimelineLine> lines;
  uint64_t left_out = 0;  // lines that did not fit; where they would be, one says so
};

// `thread` is one of a process's "threads".
ThreadLines thread_lines(const boost::json::value& thread, size_t most);
// Of spans that stand alone.
std::vector<TimelineLine> span_lines(const boost::json::value& process);

// "running 12 ms (3 ms of it guessed), sleeping 780 ms"; empty if nothing is known. `object` has "state_totals".
std::string totals_text(const boost::json::value& object);
// Offsets are all of one unit and precision, so that gaps and order can be seen: "+1650.312 ms"; "-0.003017 ms" where
// the whole timeline takes less than 10 ms.
enum class OffsetDigits { kMicros, kNanos };
OffsetDigits offset_digits(uint64_t duration_nano);
std::string offset_text(int64_t offset_nano, OffsetDigits digits);
int64_t signed_of(const boost::json::value& object, std::string_view key);

}  // namespace fathom::cli
