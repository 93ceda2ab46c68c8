#include "collector/control/remote_triggers.h"

#include <algorithm>

namespace fathom::collector {

namespace {

// Clocks of two nodes may differ by this much. Windows have margins of ten milliseconds.
constexpr uint64_t kSlackNano = kNanosPerMilli;

using TraceWindow = RemoteTriggers::Window;

TraceWindow union_of(const TraceWindow& one, const TraceWindow& other) {
  return {std::min(one.start_unix_nano, other.start_unix_nano), std::max(one.end_unix_nano, other.end_unix_nano)};
}

bool is_wider(const TraceWindow& whole, const TraceWindow& part) {
  return part.start_unix_nano - whole.start_unix_nano > kSlackNano ||
         whole.end_unix_nano - part.end_unix_nano > kSlackNano;
}

}  // namespace

RemoteTriggers::Verdict RemoteTriggers::captured(const TraceId& trace, CaptureTrigger trigger, Window& window,
                                                 uint64_t now_nano) {
  const bool is_slow = trigger == CaptureTrigger::kSlow;
  if (Asked* known = known_.find(trace, now_nano)) return captured_again(*known, is_slow, window, now_nano);
  if (!rate_.take(now_nano)) return Verdict::kTooMany;
  known_.add(trace, {.window = window, .is_slow = is_slow}, now_nano);
  return Verdict::kAsk;
}

RemoteTriggers::Verdict RemoteTriggers::captured_again(Asked& asked, bool is_slow, Window& window, uint64_t now_nano) {
  const Window both = union_of(asked.window, window);
  const bool is_further = is_wider(both, asked.window);
  const bool is_first_slow = is_slow && !asked.is_slow;
  if (!is_further && !is_first_slow) return Verdict::kAsked;
  if (!is_first_slow && asked.wider >= most_wider_) return Verdict::kTooMany;
  if (!rate_.take(now_nano)) return Verdict::kTooMany;
  if (!is_first_slow) ++asked.wider;
  asked.is_slow = asked.is_slow || is_slow;
  window = asked.window = both;
  return Verdict::kAsk;
}

void RemoteTriggers::asked(const TraceId& trace, uint64_t now_nano) {
  const Asked all{.window = {.start_unix_nano = 0, .end_unix_nano = UINT64_MAX}, .is_slow = true};
  if (Asked* known = known_.find(trace, now_nano))
    *known = all;
  else
    known_.add(trace, all, now_nano);
}

}  // namespace fathom::collector
