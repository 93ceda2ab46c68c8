// Source: a producer of the detail that captures consist of: one interface for all of them.
//
// Purpose: the agent knows no source but by this. A source records the processes that it is told to follow, in a flight
// recorder of its own, which overwrites its oldest part; of a window of time it gives a Slice, a copy that can be
// written into a capture. docs/adding-a-source.md builds one step by step. Thread safety: each method says on which
// thread it is called; a source is used by several at once. Ownership: Sources (sources.h) owns the sources, a
// capture's job its slices, which may outlive the program and not the source. Units: nanoseconds of CLOCK_MONOTONIC;
// process and thread ids are the node's. Errors: what cannot be recorded is said in the capture and by availability();
// losses are counted in the capture that they affect, in losses(), and in metrics that the source registers
// (base/metrics.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node-agent/agent/process_life.h"
#include "node-agent/capture/capture_builder.h"
#include "node-agent/clock/shared_times.h"
#include "node-agent/sources/availability.h"
#include "node-agent/triggers/watched_program.h"

namespace fathom::agent {

enum class FollowReason {
  kTraced,   // the process uses fathom's client; for as long as it lives
  kRequest,  // a user asked for a window of time that lies ahead; until it is over
};

struct SliceRequest {
  const WatchedProgram& program;
  uint64_t begin_nano = 0;
  uint64_t end_nano = 0;
  FollowReason reason = FollowReason::kTraced;
  uint64_t budget_bytes = 0;  // the most that the slice may hold
  SharedTimes& times;
};

class Slice {
 public:
  virtual ~Slice() = default;
  // Whether the process was recorded, even if nothing happened in the window. There is no capture if no source recorded
  // it, and it has no span open.
  virtual bool was_recorded() const = 0;
  // Of what Source::needed_bytes() asked for.
  virtual uint64_t held_bytes() const = 0;
  // What was recorded and what was lost, or why nothing was recorded. Called once, on the worker's thread.
  virtual void write(CaptureBuilder& capture) = 0;
};

class Source {
 public:
  virtual ~Source() = default;

  // For logs and for people: "events of the client".
  virtual std::string_view name() const = 0;
  // What this host lets it record, a line each, also when it follows nothing. Any thread.
  virtual std::vector<Availability> availability() const = 0;

  // ---- process selection, on the worker's thread; may take milliseconds. The recorder starts with the first process.
  // For each call of follow() there is one of forget().
  virtual void follow(const ProcessId& process, FollowReason reason) = 0;
  virtual void forget(const ProcessId& process, FollowReason reason) = 0;
  // Nothing was recorded of the program yet: if it runs, a capture waits a moment for its first data. Any thread.
  virtual bool awaits_first_data(const WatchedProgram&) const { return false; }

  // ---- slices, on any thread
  // The thread that saw the trigger takes the slice at once, because the recorder holds little and is overwritten soon.
  // Otherwise the worker takes it, when the window is over.
  virtual bool copies_at_once() const { return false; }
  // The most memory that the slice will hold until it is written: reserved before.
  virtual uint64_t needed_bytes(const SliceRequest&) const { return 0; }
  // Never null.
  virtual std::unique_ptr<Slice> slice(const SliceRequest& request) = 0;

  // The wait status of a process that has ended; no value: it is not known. On the agent's loop: microseconds at most.
  virtual std::optional<int> exit_status(const ProcessId&) const { return std::nullopt; }

  // What it lost since the agent started, by name: sent to the collector with each heartbeat. Any thread.
  virtual std::vector<std::pair<std::string, uint64_t>> losses() const { return {}; }
};

}  // namespace fathom::agent
