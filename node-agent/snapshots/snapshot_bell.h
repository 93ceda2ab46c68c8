// SnapshotBell: how a trigger has the processor's recording stopped, before what led to it is overwritten.
//
// Purpose: all that the triggers (node-agent/triggers) know of Intel PT. Thread safety: any thread; no call waits for
// the rings, nor for a snapshot's being made. Errors: none; what is not cut is counted, by reason
// (fathom_agent_snapshots_skipped_total). Units: nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/ids.h"
#include "node-agent/triggers/watched_program.h"

namespace fathom::agent {

struct SnapshotAsk {
  std::string_view reason;  // "overdue", as name_of(CaptureTrigger) has them, or "symbol"; of static life
  TraceId trace_id;
  SpanId span_id;
  int32_t pid = -1;                            // as the host sees it
  std::optional<uint32_t> uid = std::nullopt;  // of the process, as the kernel vouched for it; nothing: /proc has it
  int32_t tid = -1;                            // as the program sees it, which may be another one than the host's
  uint64_t begin_nano = 0;                     // nothing before is of interest: the span's start; 0: not known
  uint64_t at_nano = 0;                        // what it is about: now, or a span's end
};

class SnapshotBell {
 public:
  virtual ~SnapshotBell() = default;
  virtual void ring(const SnapshotAsk& ask) = 0;
  // A traced program that runs: one in which a function may be waited for. New, or changed; then gone, or over.
  virtual void program_runs(std::shared_ptr<const WatchedProgram> program) = 0;
  virtual void program_ended(const WatchedProgram& program) = 0;
};

}  // namespace fathom::agent
