// The lines of one thread of a timeline: spans, events, system calls, waits and page faults, in order of time.
//
// Purpose: what is shown and what it says, apart from how it is drawn. Where there are more than fit, spans stay; of
// events the last ones do; then the longest system calls and waits. Thread safety: pure functions. Ownership: copies.
#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fathom::cli {

enum class TimelineLineKind { kSpan, kEvent, kCall, kWait, kFault };

struct TimelineLine {
  TimelineLineKind kind = TimelineLineKind::kSpan;
  int64_t offset_nano = 0;
  std::optional<uint64_t> duration_nano;  // nothing: it is a moment
  std::string text;
  std::vector<std::string> below;  // what else it says, a line each
  bool error = false;
  size_t depth = 0;  // so many spans and system calls are around it

  int64_t end_nano() const;
};

struct ThreadLines {
  std::vector<TimelineLine> lines;
  uint64_t left_out = 0;
};

// `thread` is one of a process's "threads".
ThreadLines thread_lines(const boost::json::value& thread, size_t most);
// Of spans that stand alone.
std::vector<TimelineLine> span_lines(const boost::json::value& process);

// "running 12 ms, sleeping 780 ms"; empty where nothing is known. `object` has "state_totals".
std::string totals_text(const boost::json::value& object);
// "sleeping 780 ms in futex, woken by flush-7 (4719)"
std::string wait_text(const boost::json::value& state);
// "+1.2 ms", "-3 us"
std::string offset_text(int64_t offset_nano);
int64_t signed_of(const boost::json::value& object, std::string_view key);

}  // namespace fathom::cli
