#include "node-agent/triggers/trigger_limits.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace fathom::agent {

namespace {

bool is_of_time(CaptureTrigger trigger) {
  return trigger == CaptureTrigger::kOverdue || trigger == CaptureTrigger::kSlow;
}

// Overdue and slow are one: a span that is found overdue is slow when it ends.
CaptureTrigger bucket_name(CaptureTrigger trigger) {
  return trigger == CaptureTrigger::kOverdue ? CaptureTrigger::kSlow : trigger;
}

RateLimit limit_of(CaptureTrigger trigger, const TriggerLimitOptions& options) {
  auto limit = options.rates.find(trigger);
  return limit == options.rates.end() ? RateLimit{} : limit->second;
}

std::array<TokenBucket, kCaptureTriggerNames.size()> make_buckets(const TriggerLimitOptions& options) {
  auto bucket = [&](auto number) {
    const RateLimit limit = limit_of(static_cast<CaptureTrigger>(number + 1), options);
    return TokenBucket(limit.per_second, limit.burst);
  };
  return [&]<size_t... kNumbers>(std::index_sequence<kNumbers...>) {
    return std::array{bucket(kNumbers)...};
  }(std::make_index_sequence<kCaptureTriggerNames.size()>());
}

constexpr uint64_t kForgetEveryNano = 1'000'000'000;

bool is_younger(uint64_t then_nano, uint64_t age_nano, uint64_t now_nano) {
  return now_nano < then_nano || now_nano - then_nano < age_nano;
}

// So much longer that it has something new to tell.
bool is_much_longer(uint64_t duration_nano, uint64_t longest_nano) {
  return duration_nano / 5 * 4 > longest_nano;
}

}  // namespace

TriggerLimits::TriggerLimits(const TriggerLimitOptions& options) : options_(options), buckets_(make_buckets(options)) {}

std::optional<SkipReason> TriggerLimits::admit(const TriggerCause& cause, uint64_t now_nano) {
  if (cause.trigger == CaptureTrigger::kRequested) return std::nullopt;
  std::lock_guard lock(mutex_);
  forget_old(now_nano);
  if (std::optional<SkipReason> reason = why_not(cause, now_nano)) return reason;
  remember(cause, now_nano);
  return std::nullopt;
}

std::optional<SkipReason> TriggerLimits::why_not(const TriggerCause& cause, uint64_t now_nano) {
  if (!cause.goes_on && is_captured(cause, now_nano)) return SkipReason::kSame;
  if (!is_operations_turn(cause, now_nano)) return SkipReason::kOperation;
  if (!cause.shares && !bucket_of(bucket_name(cause.trigger)).take(now_nano)) return SkipReason::kRate;
  return std::nullopt;
}

bool TriggerLimits::is_captured(const TriggerCause& cause, uint64_t now_nano) const {
  auto [first, last] = captured_.equal_range({cause.trigger, cause.program, cause.trace_id});
  return std::any_of(first, last,
                     [&](const auto& entry) { return is_younger(entry.second, options_.remember_nano, now_nano); });
}

bool TriggerLimits::is_operations_turn(const TriggerCause& cause, uint64_t now_nano) const {
  if (!is_of_time(cause.trigger) || cause.goes_on) return true;
  auto last = operations_.find(cause.operation);
  if (last == operations_.end() || is_over(last->second, now_nano)) return true;
  return is_much_longer(cause.duration_nano,
                        std::ranges::max_element(last->second, {}, &Captured::duration_nano)->duration_nano);
}

bool TriggerLimits::is_over(const Turn& turn, uint64_t now_nano) const {
  return !is_younger(turn.front().nano, options_.operation_pause_nano, now_nano);
}

void TriggerLimits::remember(const TriggerCause& cause, uint64_t now_nano) {
  if (!cause.trace_id.is_zero()) captured_.insert({{cause.trigger, cause.program, cause.trace_id}, now_nano});
  if (!is_of_time(cause.trigger) || cause.operation == 0) return;
  Turn& turn = operations_[cause.operation];
  if (!turn.empty() && is_over(turn, now_nano)) turn.clear();
  turn.push_back({now_nano, cause.duration_nano});
}

// Only the one that was remembered then: others may have come since.
void TriggerLimits::give_back(const TriggerCause& cause, uint64_t admitted_nano) {
  std::lock_guard lock(mutex_);
  auto [first, last] = captured_.equal_range({cause.trigger, cause.program, cause.trace_id});
  auto its = std::find_if(first, last, [&](const auto& entry) { return entry.second == admitted_nano; });
  if (its != last) captured_.erase(its);
  auto operation = is_of_time(cause.trigger) ? operations_.find(cause.operation) : operations_.end();
  if (operation == operations_.end()) return;
  Turn& turn = operation->second;
  auto captured = std::ranges::find(turn, Captured{admitted_nano, cause.duration_nano});
  if (captured != turn.end()) turn.erase(captured);
  if (turn.empty()) operations_.erase(operation);
}

// The buckets bound how many come in a minute; should that be set to more, all are forgotten.
void TriggerLimits::forget_old(uint64_t now_nano) {
  if (now_nano < forgotten_nano_ + kForgetEveryNano) return;
  forgotten_nano_ = now_nano;
  std::erase_if(captured_,
                [&](const auto& entry) { return !is_younger(entry.second, options_.remember_nano, now_nano); });
  std::erase_if(operations_, [&](const auto& entry) { return is_over(entry.second, now_nano); });
  if (captured_.size() >= options_.most_remembered) captured_.clear();
  if (operations_.size() >= options_.most_remembered) operations_.clear();
}

}  // namespace fathom::agent
