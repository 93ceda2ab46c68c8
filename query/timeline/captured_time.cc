#include "query/timeline/captured_time.h"

#include <iterator>
#include <vector>

namespace fathom::query {

namespace {

struct Stretch {
  uint64_t begin_nano = 0;
  uint64_t end_nano = 0;
};
using Stretches = std::vector<Stretch>;  // by time; gaps are longer than kToleratedNano

Stretches merged_stretches(const Stretches& sorted) {
  Stretches result;
  for (const Stretch& next : sorted) {
    if (result.empty() || next.begin_nano > result.back().end_nano + kToleratedNano) {
      result.push_back(next);
    } else {
      result.back().end_nano = std::max(result.back().end_nano, next.end_nano);
    }
  }
  return result;
}

Stretches captured_stretches(const Timeline& timeline, const TimelineProcess& process) {
  Stretches stretches;
  for (size_t index : process.captures) {
    const TimelineCapture& capture = timeline.captures[index];
    stretches.push_back({capture.unix_nano(capture.content->begin_nano), capture.unix_nano(capture.content->end_nano)});
  }
  std::ranges::sort(stretches, {}, &Stretch::begin_nano);
  return merged_stretches(stretches);
}

// Null: no capture covers this moment.
const Stretch* stretch_at(const Stretches& stretches, uint64_t unix_nano) {
  const auto after = std::ranges::upper_bound(stretches, unix_nano + kToleratedNano, {}, &Stretch::begin_nano);
  if (after == stretches.begin()) return nullptr;
  const Stretch& last = *std::prev(after);
  return unix_nano <= last.end_nano + kToleratedNano ? &last : nullptr;
}

bool is_own_capture(const Timeline& timeline, const TimelineProcess& process, const TimelineCapture& capture) {
  const store::CaptureInfo& info = capture.stored.info;
  return info.trace_id == timeline.trace_id && info.node_id == process.node_id && info.pid == process.pid;
}

bool may_have_all(const TimelineCapture& capture) {
  return capture.content == nullptr || capture.stored.info.crosses_clock_jump;
}

}  // namespace

CapturedTime captured_time(const Timeline& timeline, const TimelineProcess& process) {
  bool has_own = false, is_all = true;
  for (const TimelineCapture& capture : timeline.captures) {
    if (!is_own_capture(timeline, process, capture)) continue;
    if (may_have_all(capture)) return CapturedTime::kAll;
    has_own = true;
  }
  const Stretches stretches = captured_stretches(timeline, process);
  uint64_t first_nano = UINT64_MAX;
  visit_spans(process, [&](const TimelineSpan& span) {
    if (span.open) return;
    const Stretch* stretch = stretch_at(stretches, span.begin_unix_nano);
    is_all = is_all && stretch != nullptr && span.end_unix_nano <= stretch->end_nano + kToleratedNano;
    first_nano = std::min(first_nano, span.begin_unix_nano);
  });
  if (is_all) return CapturedTime::kAll;
  if (!has_own) return CapturedTime::kNotItsOwn;
  return stretch_at(stretches, first_nano) != nullptr ? CapturedTime::kBegin : CapturedTime::kPart;
}

}  // namespace fathom::query
