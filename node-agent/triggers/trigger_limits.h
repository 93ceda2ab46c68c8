// TriggerLimits: how many captures each kind of trigger may make.
//
// Purpose: a capture costs a copy of some megabytes, compression and the way home; where everything is slow, a few
// captures tell as much as all would. A kind has a token bucket. Overdue spans and their rests (kSlow) share one, and
// of one operation they make one capture in ten seconds, besides those that took a good deal longer than all that were
// captured in this time. The slowest requests of a minute do not come here (slowest_requests.h). Of one trace in one
// process a kind makes one capture, for as long as it is remembered. Thread safety: all of it. Errors: the reason why
// not, as fathom_agent_captures_skipped_total has it. Units: nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/skip_reason.h"
#include "base/token_bucket.h"
#include "node-agent/control.h"

namespace fathom::agent {

struct RateLimit {
  double per_second = 1;
  double burst = 5;
};

struct TriggerLimitOptions {
  // Of triggers that are not here, RateLimit's own. Overdue and slow spans share the first.
  std::map<CaptureTrigger, RateLimit> rates{{CaptureTrigger::kSlow, {2, 10}},
                                            {CaptureTrigger::kProgram, {2, 10}},
                                            {CaptureTrigger::kCrash, {5, 5}},
                                            {CaptureTrigger::kRemote, {10, 10}}};
  uint64_t operation_pause_nano = 10'000'000'000;
  uint64_t remember_nano = 60'000'000'000;
  size_t most_remembered = 4096;
};

// What a trigger is about.
struct TriggerCause {
  CaptureTrigger trigger = CaptureTrigger::kRequested;
  uint32_t program = 0;        // WatchedProgram::serial
  TraceId trace_id;            // zero: no trace
  uint64_t operation = 0;      // of service and operation_hash(); 0: none
  uint64_t duration_nano = 0;  // of the span, as far as it is known
  bool goes_on = false;        // with what was captured of its trace already: only the bucket limits it
  bool shares = false;         // the content of one that was admitted just now
};

class TriggerLimits {
 public:
  explicit TriggerLimits(const TriggerLimitOptions& options = {});

  // Nothing: a capture may be made, and is counted. Requests always may.
  std::optional<SkipReason> admit(const TriggerCause& cause, uint64_t now_nano);
  // What was admitted then was not captured after all: its trace and its operation may be captured as if it had never
  // been asked for. What it took of the rate stays taken: in vain was paid for, too.
  void give_back(const TriggerCause& cause, uint64_t admitted_nano);

 private:
  using Remembered = std::tuple<CaptureTrigger, uint32_t, TraceId>;
  struct Captured {
    uint64_t nano = 0;  // when
    uint64_t duration_nano = 0;
    bool operator==(const Captured&) const = default;
  };
  // Those of an operation since the first of them, one at least; few, because the rate is limited.
  using Turn = std::vector<Captured>;

  std::optional<SkipReason> why_not(const TriggerCause& cause, uint64_t now_nano);
  bool is_captured(const TriggerCause& cause, uint64_t now_nano) const;
  bool is_operations_turn(const TriggerCause& cause, uint64_t now_nano) const;
  bool is_over(const Turn& turn, uint64_t now_nano) const;
  void remember(const TriggerCause& cause, uint64_t now_nano);

  TokenBucket& bucket_of(CaptureTrigger trigger) {
    assert(trigger != CaptureTrigger{});
    return buckets_[static_cast<size_t>(trigger) - 1];
  }
  void forget_old(uint64_t now_nano);

  const TriggerLimitOptions options_;
  std::mutex mutex_;
  std::array<TokenBucket, kCaptureTriggerNames.size()> buckets_;  // by trigger
  std::multimap<Remembered, uint64_t> captured_;                  // when
  std::unordered_map<uint64_t, Turn> operations_;
  uint64_t forgotten_nano_ = 0;
};

}  // namespace fathom::agent
