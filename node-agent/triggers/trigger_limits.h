// TriggerLimits: how many captures each kind of trigger may make.
//
// Purpose: a capture costs a copy of some megabytes, compression and transfer. If everything is slow, a few captures
// explain as much as all. Each trigger has a token bucket. Overdue spans and their rests (kSlow) share one, and make
// one capture per operation in ten seconds, unless a span is a quarter longer than all that were captured in this time.
// The slowest requests of a minute are not limited here (slowest_requests.h). A trigger makes one capture of a trace
// and process, as long as that is remembered. Thread safety: all of it. Errors: the reason why not, as in
// fathom_agent_captures_skipped_total. Units: nanoseconds of CLOCK_MONOTONIC.
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
  // Other triggers have the defaults of RateLimit. Overdue and slow spans share the rate of kSlow.
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
  uint64_t operation = 0;      // operation_key(); 0: none
  uint64_t duration_nano = 0;  // of the span so far
  bool goes_on = false;        // adds to an earlier capture of its trace: only the bucket limits it
  bool shares = false;         // uses the content of a cause that was just admitted: takes no token
};

class TriggerLimits {
 public:
  explicit TriggerLimits(const TriggerLimitOptions& options = {});

  // No value: a capture may be made, and is remembered. kRequested is always admitted.
  std::optional<SkipReason> admit(const TriggerCause& cause, uint64_t now_nano);
  // The cause admitted at that time was not captured after all: its trace and operation may be captured as if it had
  // never been admitted. The token stays taken, because a failed attempt has its cost, too.
  void give_back(const TriggerCause& cause, uint64_t admitted_nano);

 private:
  using Remembered = std::tuple<CaptureTrigger, uint32_t, TraceId>;
  struct Captured {
    uint64_t nano = 0;  // when
    uint64_t duration_nano = 0;
    bool operator==(const Captured&) const = default;
  };
  // Captures of an operation since the first of its turn, at least one; few, because the rate is limited.
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
