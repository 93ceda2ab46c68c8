#include "collector/control/remote_triggers.h"

#include <algorithm>

namespace fathom::collector {

void RemoteTriggers::forget(uint64_t now_nano) {
  while (!by_age_.empty() &&
         (by_age_.size() > options_.max_traces || now_nano - by_age_.front().first >= options_.remember_nano)) {
    known_.erase(by_age_.front().second);
    by_age_.pop_front();
  }
}

bool RemoteTriggers::take_token(uint64_t now_nano) {
  double passed_s = static_cast<double>(now_nano - filled_nano_) / static_cast<double>(kNanosPerSecond);
  tokens_ = std::min(options_.burst, tokens_ + passed_s * options_.traces_per_s);
  filled_nano_ = now_nano;
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

RemoteTriggers::Verdict RemoteTriggers::captured(const TraceId& trace, uint64_t now_nano) {
  forget(now_nano);
  if (known_.contains(trace)) return Verdict::kAsked;
  if (!take_token(now_nano)) return Verdict::kTooMany;
  asked(trace, now_nano);
  return Verdict::kAsk;
}

void RemoteTriggers::asked(const TraceId& trace, uint64_t now_nano) {
  if (known_.insert(trace).second) by_age_.emplace_back(now_nano, trace);
  forget(now_nano);
}

}  // namespace fathom::collector
