#include "query/timeline/recorded_time.h"

#include <algorithm>
#include <string_view>

#include "query/timeline/captured_time.h"

namespace fathom::query {

namespace {

using capture::KernelEvent;
using capture::KernelEventKind;

Period common_period(const Period& a, const Period& b) {
  return {std::max(a.begin_nano, b.begin_nano), std::min(a.end_nano, b.end_nano)};
}

// By the begin of the window in the header, which is corrected.
Period period_of(const TimelineCapture& capture, const StateWindow& window) {
  if (window.to_nano <= window.from_nano) return {};
  const uint64_t begin_nano = capture.stored.info.start_unix_nano + (window.from_nano - capture.content->begin_nano);
  return {begin_nano, begin_nano + (window.to_nano - window.from_nano)};
}

Period window_period(const TimelineCapture& capture) {
  return period_of(capture, {capture.content->begin_nano, capture.content->end_nano});
}

void add_period(Periods& periods, const Period& period) {
  if (!period.is_empty()) periods.push_back(period);
}

void add_gap(Periods& gaps, const Period& gap) {
  if (!gap.is_empty() && gap.end_nano - gap.begin_nano > kToleratedNano) gaps.push_back(gap);
}

Periods gaps_between(Periods periods, Period whole) {
  std::ranges::sort(periods, {}, &Period::begin_nano);
  Periods gaps;
  for (const Period& period : periods) {
    add_gap(gaps, {whole.begin_nano, std::min(period.begin_nano, whole.end_nano)});
    whole.begin_nano = std::max(whole.begin_nano, period.end_nano);
  }
  add_gap(gaps, whole);
  return gaps;
}

Periods joined_periods(Periods periods) {
  std::ranges::sort(periods, {}, &Period::begin_nano);
  Periods joined;
  for (const Period& period : periods) {
    if (joined.empty() || period.begin_nano > joined.back().end_nano) {
      joined.push_back(period);
    } else {
      joined.back().end_nano = std::max(joined.back().end_nano, period.end_nano);
    }
  }
  return joined;
}

bool fills_gap(const Period& period, const Periods& known, const Period& whole) {
  const Periods gaps = gaps_between(known, whole);
  return std::ranges::any_of(gaps, [&](const Period& gap) { return !common_period(gap, period).is_empty(); });
}

}  // namespace

bool is_system_call(const KernelEvent& event) {
  return event.kind == KernelEventKind::kSyscall || event.kind == KernelEventKind::kSyscallUnderWay;
}

bool has_system_calls(const capture::Capture& content) {
  return std::ranges::any_of(content.threads, [](const capture::Thread& thread) {
    return std::ranges::any_of(thread.kernel_events, is_system_call);
  });
}

bool lost_changes(const capture::Capture& content) {
  constexpr std::string_view kLosses[] = {"kernel_missed", "kernel_torn", "kernel_overwritten", "kernel_left_out",
                                          "over_limit_threads_kernel_events"};
  return std::ranges::any_of(
      content.losses, [&](const auto& loss) { return loss.second > 0 && std::ranges::count(kLosses, loss.first) > 0; });
}

StateWindow complete_events(const capture::Capture& content) {
  return {std::max(content.events_complete_from_nano, content.begin_nano), content.end_nano};
}

StateWindow complete_kernel(const capture::Capture& content) {
  if (content.kernel_complete_from_nano == 0) return {};
  return {std::max(content.kernel_complete_from_nano, content.begin_nano), content.end_nano};
}

void RecordedTime::add(const TimelineCapture& capture) {
  if (capture.content == nullptr) return;
  const Period kernel = period_of(capture, complete_kernel(*capture.content));
  add_period(events_, period_of(capture, complete_events(*capture.content)));
  add_period(kernel_, kernel);
  if (has_system_calls(*capture.content)) add_period(calls_, kernel);
}

Periods RecordedTime::missing(const Period& whole) const {
  Periods gaps = gaps_between(events_, whole);
  std::ranges::copy(gaps_between(kernel_, whole), std::back_inserter(gaps));
  return joined_periods(std::move(gaps));
}

bool RecordedTime::is_extended_by(const TimelineCapture& capture, const Period& whole) const {
  if (capture.content == nullptr) return false;
  const Period kernel = period_of(capture, complete_kernel(*capture.content));
  if (fills_gap(window_period(capture), events_, whole) || fills_gap(kernel, kernel_, whole)) return true;
  return has_system_calls(*capture.content) && fills_gap(kernel, calls_, whole);
}

}  // namespace fathom::query
