// SpanPoolView: which spans are open in the threads of a traced program, read from outside.
//
// Purpose: area 5 of the span pool (docs/formats/span-pool.md) of a process that we hold, so that a window can begin
// and end with a span, and the program pays nothing for it. Thread safety: none; one owner. Errors: a program without
// a pool, or with one of a version that we do not know, has no open spans. Hostile input: what is copied is checked.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "client/pool/open_spans.h"
#include "snapshot/record/step/tsc_clock.h"

namespace fathom::snapshot::step {

struct OpenSpanPlace {
  pid_t tid = 0;
  uint64_t start_ticks = 0;
  uint64_t start_address = 0;  // where the program has start_ticks: another value there says that the span has ended
  TraceId trace_id;
  SpanId span_id;
};

// How often to look for a span that has been open for `least_nano`: often enough, and no burden.
uint64_t span_poll_nano(uint64_t least_nano);
// For people: why there is no snapshot.
std::string no_span(const std::string& operation, uint64_t least_nano);

class SpanPoolView {
 public:
  explicit SpanPoolView(pid_t pid) : pid_(pid) {}
  // Open spans of that name (with a '*': of those that it fits, as base/name_pattern.h has it), of all threads, or of
  // `tid` alone.
  std::vector<OpenSpanPlace> open_spans(std::string_view name, pid_t tid = 0);
  // How long it has been open.
  uint64_t age_nano(const OpenSpanPlace& place, const TscClock& clock) const;
  bool is_open(const OpenSpanPlace& place) const;
  // Whether ticks are those of the processor's counter; otherwise nanoseconds of CLOCK_MONOTONIC.
  bool ticks_are_tsc() const { return header_.clock == pool::Clock::kTsc; }

 private:
  struct Header {
    uint64_t magic = 0;
    uint32_t version = 0;
    pool::Clock clock = pool::Clock::kTsc;
    uint32_t chunk_bytes = 0;
    uint32_t chunk_count = 0;
    uint64_t chunks_offset = 0;
    uint64_t resource_offset = 0;
    uint8_t process_id[16] = {};
    uint32_t pid = 0;
    uint32_t thread_slots = 0;
  };
  bool find();
  bool take(uint64_t address);
  void look_at(const uint8_t* slot, uint64_t address, std::string_view name, std::vector<OpenSpanPlace>& found) const;

  pid_t pid_;
  uint64_t address_ = 0;  // of the pool; 0: not found yet
  uint64_t looked_nano_ = 0;
  Header header_;
};

}  // namespace fathom::snapshot::step
