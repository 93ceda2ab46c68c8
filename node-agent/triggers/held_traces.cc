#include "node-agent/triggers/held_traces.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/time.h"
#include "node-agent/agent/state_directory.h"
#include "node-agent/triggers/capture_metrics.h"

namespace fathom::agent {

namespace {

CaptureSubject held_subject(const TraceId& trace_id) {
  CaptureSubject subject;
  subject.id = {random_id()};
  subject.trigger = CaptureTrigger::kRemote;
  subject.trace_id = trace_id;
  subject.reason = "another process of the trace has a slow request";
  return subject;
}

}  // namespace

HeldTraces::HeldList::iterator HeldTraces::find(const CaptureJob& job) {
  return std::ranges::find(held_, job.subjects.front().id, &Held::id);
}

bool HeldTraces::prolong(uint32_t program, const TraceId& trace_id, const TimeWindow& window, uint64_t until_nano) {
  bool is_held = false;
  for (Held& held : held_) {
    if (held.program != program || held.trace_id != trace_id || missing_part(window, {held.window}, 0)) continue;
    held.until_nano = std::max(held.until_nano, until_nano);
    is_held = true;
  }
  return is_held;
}

bool HeldTraces::hold(const std::shared_ptr<const WatchedProgram>& program, const TraceId& trace_id,
                      const TimeWindow& window, uint64_t hold_nano, uint64_t now_nano) {
  const uint64_t until_nano = now_nano + std::min(hold_nano, kLongestNano);
  if (prolong(program->serial, trace_id, window, until_nano)) return false;
  CaptureSubject subject = held_subject(trace_id);
  if (!has_room(now_nano)) {
    refuse(skipped_capture(subject, *program, SkipReason::kRate), until_nano);
    return false;
  }
  Held& held = held_.emplace_back(Held{.id = subject.id,
                                       .program = program->serial,
                                       .trace_id = trace_id,
                                       .window = window,
                                       .until_nano = until_nano,
                                       .give_up_nano = now_nano + kPatienceNano});
  held.job = admission_.job_of(program, window.begin_nano, window.end_nano);
  held.job->owner = JobOwner::kHeldTraces;
  held.job->subjects.push_back(std::move(subject));
  ++waiting_;
  submit_waiting(now_nano);
  return true;
}

void HeldTraces::submit_waiting(uint64_t now_nano) {
  if (waiting_ == 0) return;
  bool is_busy = false;
  for (auto at = held_.begin(); at != held_.end();) {
    const auto held = at++;
    if (!held->job) continue;
    is_busy = is_busy || !admission_.try_submit(*held->job);
    if (!is_busy) {
      held->job.reset();
      --waiting_;
    } else if (now_nano >= held->give_up_nano) {
      const CaptureJob job = *std::exchange(held->job, std::nullopt);
      --waiting_;
      skipped(job, SkipReason::kBusy);
    }
  }
}

void HeldTraces::refuse(ingest::SkippedCapture report, uint64_t until_nano) {
  count_skipped(report.trigger, report.reason);
  refused_.push_back({std::move(report), until_nano});
  next_expiry_nano_ = std::min(next_expiry_nano_, until_nano);
  if (refused_.size() <= kMostRefused) return;
  refused_.pop_front();
  SkippedTraces::drop(1);
}

void HeldTraces::report_refused(const TraceId& trace_id) {
  std::erase_if(refused_, [&](const Refused& refused) {
    if (refused.report.trace_id != trace_id) return false;
    admission_.skipped_traces().note(refused.report, now_monotonic_nano());
    return true;
  });
}

HeldTraces::Taken HeldTraces::take(const TraceId& trace_id) {
  report_refused(trace_id);
  Taken taken;
  for (auto at = held_.begin(); at != held_.end();) {
    const auto held = at++;
    if (held->trace_id != trace_id) continue;
    held->is_taken = true;
    taken.windows.push_back({held->program, held->window});
    if (!held->content) continue;
    taken.contents.push_back(std::move(held->content));
    held_.erase(held);
  }
  return taken;
}

HeldTraces::ContentPtr HeldTraces::made(const CaptureJob& job, ReadyCapture capture) {
  const auto held = find(job);
  if (held == held_.end()) return nullptr;
  MadeContent content = made_content(job, std::move(capture));
  if (!held->is_taken) return keep(held, std::move(content)), nullptr;
  held_.erase(held);
  return std::make_shared<const MadeContent>(std::move(content));
}

void HeldTraces::adopt(const TraceId& trace_id, const MadeContent& content, uint64_t until_nano) {
  const TimeWindow window{content.begin_nano, content.end_nano};
  if (prolong(content.program, trace_id, window, until_nano)) return;
  if (held_.size() >= kMost)
    return refuse(skipped_capture(held_subject(trace_id), content, SkipReason::kRate), until_nano);
  Held held{.program = content.program, .trace_id = trace_id, .window = window, .until_nano = until_nano};
  keep(held_.insert(held_.end(), std::move(held)), content);
}

void HeldTraces::keep(HeldList::iterator held, MadeContent content) {
  if (content.bytes->size() > options_.most_held_bytes) {
    refuse(skipped_capture(held_subject(held->trace_id), content, SkipReason::kMemory), held->until_nano);
    held_.erase(held);
    return;
  }
  held->content = pool_.add(std::move(content));
  next_expiry_nano_ = std::min(next_expiry_nano_, held->until_nano);
  while (bytes() > options_.most_held_bytes && drop_oldest()) {
  }
  show_held_bytes(bytes());
}

bool HeldTraces::drop_oldest() {
  std::map<uid_t, uint64_t> bytes;
  for (const Held& held : held_) {
    if (held.content) bytes[held.content->uid] += held.content->bytes->size();
  }
  if (bytes.empty()) return false;
  const uid_t user = std::ranges::max_element(bytes, {}, [](const auto& entry) { return entry.second; })->first;
  const auto oldest =
      std::ranges::find_if(held_, [&](const Held& held) { return held.content && held.content->uid == user; });
  refuse(skipped_capture(held_subject(oldest->trace_id), *oldest->content, SkipReason::kMemory), oldest->until_nano);
  held_.erase(oldest);
  return true;
}

void HeldTraces::skipped(const CaptureJob& job, SkipReason reason) {
  const auto at = find(job);
  if (at == held_.end()) return count_skipped(CaptureTrigger::kRemote, reason);
  const Held held = std::move(*at);
  held_.erase(at);
  if (!held.is_taken) return refuse(skipped_capture(job.subjects.front(), *job.program, reason), held.until_nano);
  admission_.note_skipped(job.subjects.front(), *job.program, reason);
  not_made_(held.trace_id, {held.program, held.window});
}

void HeldTraces::step(uint64_t now_nano) {
  submit_waiting(now_nano);
  if (now_nano >= next_expiry_nano_) drop_expired(now_nano);
  show_held_bytes(bytes());
}

void HeldTraces::drop_expired(uint64_t now_nano) {
  std::erase_if(held_, [&](const Held& held) { return held.content && held.until_nano <= now_nano; });
  std::erase_if(refused_, [&](const Refused& refused) { return refused.until_nano <= now_nano; });
  next_expiry_nano_ = UINT64_MAX;
  for (const Held& held : held_) {
    if (held.content) next_expiry_nano_ = std::min(next_expiry_nano_, held.until_nano);
  }
  for (const Refused& refused : refused_) next_expiry_nano_ = std::min(next_expiry_nano_, refused.until_nano);
}

}  // namespace fathom::agent
