#include "node-agent/triggers/provisional_captures.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/time.h"
#include "node-agent/agent/state_directory.h"
#include "node-agent/triggers/capture_metrics.h"

namespace fathom::agent {

namespace {

constexpr uint64_t kRetryNano = 100'000'000;
constexpr uint64_t kHoldMarginNano = 30 * kNanosPerSecond;
// The wall clock jumped if it moved by this much against CLOCK_MONOTONIC.
constexpr int64_t kJumpNano = 5 * static_cast<int64_t>(kNanosPerSecond);

// A request that took less than this part of its threshold is usual.
constexpr double kUsualTimes = 0.5;

// 1 without a threshold: such a request is copied after those over their threshold, and before those below.
double times_of_threshold(const FinishedSpan& span) {
  if (span.threshold_nano == kNever) return 1;
  return static_cast<double>(span.end_nano - span.start_nano) /
         static_cast<double>(std::max<uint64_t>(span.threshold_nano, 1));
}

}  // namespace

ProvisionalCaptures::ProvisionalCaptures(const ProvisionalOptions& options, CaptureAdmission& admission,
                                         Surroundings surroundings)
    : options_(options),
      admission_(admission),
      surroundings_(std::move(surroundings)),
      slowest_(options.slowest),
      copies_(options.copies.per_second, options.copies.burst),
      unix_minus_monotonic_nano_(options.calendar_ahead_nano()) {}

// ---- candidates -----------------------------------------------------------------------------------------------------

uint64_t ProvisionalCaptures::minute_of(uint64_t monotonic_nano) const {
  return (monotonic_nano + unix_minus_monotonic_nano_) / options_.minute_nano;
}

uint64_t ProvisionalCaptures::end_of_minute_nano(uint64_t monotonic_nano) const {
  const uint64_t begun_nano = (monotonic_nano + unix_minus_monotonic_nano_) % options_.minute_nano;
  return monotonic_nano + (options_.minute_nano - begun_nano);
}

SlowestRequests::Request ProvisionalCaptures::request_of(const WatchedProgram& program, const FinishedSpan& span,
                                                         uint64_t operation) const {
  return {program.uid, operation, minute_of(span.start_nano), span.end_nano - span.start_nano};
}

bool ProvisionalCaptures::wants(uid_t user, uint64_t operation, uint64_t start_nano, uint64_t end_nano) {
  const auto refusal = slowest_.why_not({user, operation, minute_of(start_nano), end_nano - start_nano});
  if (!refusal) return true;
  return *refusal != SlowestRequests::Refusal::kNotSlow && refused_.may_be_reported(*refusal);
}

std::optional<SlowestRequests::Placed> ProvisionalCaptures::place(const WatchedProgram& program,
                                                                  const FinishedSpan& span, uint64_t operation) {
  std::optional<SlowestRequests::Placed> placed = slowest_.place(request_of(program, span, operation));
  if (!placed || !placed->displaced) return placed;
  const auto displaced = candidates_.find(*placed->displaced);
  // A chosen one stays: another process chose it, or it came late. It is sent when it is made.
  if (displaced != candidates_.end() && !displaced->second.is_chosen) drop(displaced);
  return placed;
}

void ProvisionalCaptures::drop(Candidates::iterator at) {
  hand_on(at->second);
  candidates_.erase(at);
  show_provisional_bytes(bytes());
}

void ProvisionalCaptures::hand_on(const Candidate& candidate) const {
  if (candidate.held_until_nano <= now_nano_) return;
  surroundings_.hand_on({.program = candidate.program,
                         .trace_id = candidate.subject.trace_id,
                         .window = candidate.window().window,
                         .content = candidate.content,
                         .until_nano = candidate.held_until_nano});
}

void ProvisionalCaptures::note_captured(const ProgramPtr& program, const FinishedSpan& span, uint64_t operation) {
  (void)place(*program, span, operation);
}

CaptureSubject ProvisionalCaptures::subject_of(const FinishedSpan& span, const WatchedProgram& program) const {
  return {.id = {random_id()},
          .trigger = CaptureTrigger::kSlow,
          .trace_id = span.trace_id,
          .span_id = span.span_id,
          .operation = text_of(span.name),
          .reason = among_slowest(span.name, span.end_nano - span.start_nano, options_.minute_nano),
          .redaction = program.redaction};
}

std::optional<SlowestRequests::Placed> ProvisionalCaptures::place_or_report(const ProgramPtr& program,
                                                                            const FinishedSpan& span,
                                                                            uint64_t operation) {
  const auto refusal = slowest_.why_not(request_of(*program, span, operation));
  if (!refusal) return place(*program, span, operation);
  if (*refusal != SlowestRequests::Refusal::kNotSlow)
    admission_.note_skipped(subject_of(span, *program), *program, RefusedRequests::reason_of(*refusal));
  return std::nullopt;
}

bool ProvisionalCaptures::add(const ProgramPtr& program, const FinishedSpan& span, uint64_t operation) {
  const std::optional<SlowestRequests::Placed> placed = place_or_report(program, span, operation);
  if (!placed) return false;
  if (finished_ || !make_room(program->uid)) {
    admission_.note_skipped(subject_of(span, *program), *program, SkipReason::kBusy);
    return true;
  }
  const CaptureJob window =
      admission_.job_of(program, span.start_nano, span.end_nano + admission_.options().margin_nano);
  Candidate candidate{.program = program,
                      .serial = program->serial,
                      .user = program->uid,
                      .subject = subject_of(span, *program),
                      .begin_nano = window.begin_nano,
                      .end_nano = window.end_nano,
                      .times_of_threshold = times_of_threshold(span),
                      .minute_end_nano = end_of_minute_nano(span.start_nano),
                      .copy_nano = window.end_nano,
                      .is_chosen = placed->is_late};
  if (!candidate.is_chosen) candidate.copy_nano += copy_after_nano(candidate);
  next_due_nano_ = std::min(next_due_nano_, candidate.copy_nano);
  candidates_.emplace(placed->id, std::move(candidate));
  return true;
}

uint64_t ProvisionalCaptures::copy_after_nano(const Candidate& candidate) const {
  const bool is_usual = candidate.times_of_threshold < kUsualTimes;
  return is_usual ? std::max(options_.copy_after_nano, options_.copy_usual_after_nano) : options_.copy_after_nano;
}

// Drops the shortest request of the user with the most, so that one user's many requests do not keep out others'.
bool ProvisionalCaptures::make_room(uid_t user) {
  if (candidates_.size() < options_.most_candidates) return true;
  std::map<uid_t, size_t> counts{{user, 0}};
  for (const auto& [id, candidate] : candidates_) ++counts[candidate.user];
  const auto most = std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  if (most->second <= counts[user] + 1) return false;
  auto shortest = candidates_.end();
  for (auto at = candidates_.begin(); at != candidates_.end(); ++at) {
    if (at->second.user != most->first) continue;
    const bool is_shorter =
        shortest == candidates_.end() || at->second.duration_nano() < shortest->second.duration_nano();
    if (is_shorter) shortest = at;
  }
  note_skipped(shortest->second, SkipReason::kBusy);
  drop(shortest);
  return true;
}

void ProvisionalCaptures::note_skipped(const Candidate& candidate, SkipReason reason) {
  surroundings_.not_made(candidate.subject.trace_id, candidate.window());
  if (candidate.content)
    admission_.note_skipped(candidate.subject, *candidate.content, reason);
  else
    admission_.note_skipped(candidate.subject, *candidate.program, reason);
}

ProvisionalCaptures::Candidates::iterator ProvisionalCaptures::find(const CaptureSubject& subject) {
  auto id = ids_.find(subject.id);
  if (id == ids_.end()) return candidates_.end();
  auto candidate = candidates_.find(id->second);
  ids_.erase(id);
  return candidate;
}

std::vector<ProgramWindow> ProvisionalCaptures::hold(const TraceId& trace_id, uint32_t besides, uint64_t until_nano) {
  std::vector<ProgramWindow> windows;
  for (auto& [id, candidate] : candidates_) {
    if (candidate.subject.trace_id != trace_id) continue;
    windows.push_back(candidate.window());
    if (candidate.serial != besides) candidate.held_until_nano = std::max(candidate.held_until_nano, until_nano);
  }
  return windows;
}

// ---- time -----------------------------------------------------------------------------------------------------------

void ProvisionalCaptures::step(uint64_t now_nano) {
  now_nano_ = now_nano;
  follow_calendar();
  refused_.step(now_nano);
  close_minutes(now_nano);
  if (now_nano >= next_due_nano_) copy_due(now_nano);
}

// The wall clock always drifts a little. After a jump, earlier requests would belong to other minutes.
void ProvisionalCaptures::follow_calendar() {
  const uint64_t offset_nano = options_.calendar_ahead_nano();
  const auto moved_nano = static_cast<int64_t>(offset_nano - unix_minus_monotonic_nano_);
  unix_minus_monotonic_nano_ = offset_nano;
  if (moved_nano < kJumpNano && moved_nano > -kJumpNano) return;
  for (auto& [id, candidate] : candidates_) candidate.is_chosen = true;
  send_made();
  slowest_ = SlowestRequests(options_.slowest);
}

void ProvisionalCaptures::send_made() {
  for (auto at = candidates_.begin(); at != candidates_.end();) {
    const auto next = std::next(at);
    const Candidate& candidate = at->second;
    if (candidate.is_chosen && candidate.content) {
      surroundings_.send(candidate.subject, *candidate.content);
      candidates_.erase(at);
    }
    at = next;
  }
  show_provisional_bytes(bytes());
}

void ProvisionalCaptures::close_minutes(uint64_t now_nano) {
  const uint64_t begun_nano = now_nano - std::min(now_nano, options_.close_after_nano);
  const std::vector<Id> chosen = slowest_.close_before(minute_of(begun_nano));
  if (chosen.empty()) return;
  for (Id id : chosen) choose(candidates_.find(id), now_nano);
  send_made();
}

// A dropped or skipped candidate is no longer in the map.
void ProvisionalCaptures::choose(Candidates::iterator at, uint64_t now_nano) {
  if (at == candidates_.end()) return;
  Candidate& candidate = at->second;
  candidate.is_chosen = true;
  candidate.copy_nano = std::min(candidate.copy_nano, std::max(now_nano, candidate.end_nano));
  next_due_nano_ = std::min(next_due_nano_, candidate.copy_nano);
}

std::vector<ProgramWindow> ProvisionalCaptures::choose_trace(const TraceId& trace_id, uint64_t now_nano) {
  std::vector<ProgramWindow> windows;
  for (auto at = candidates_.begin(); at != candidates_.end(); ++at) {
    if (at->second.subject.trace_id != trace_id) continue;
    windows.push_back(at->second.window());
    choose(at, now_nano);
  }
  if (!windows.empty()) send_made();
  return windows;
}

// ---- copies ---------------------------------------------------------------------------------------------------------

bool ProvisionalCaptures::has_expired(Candidate& candidate, uint64_t now_nano) const {
  if (!candidate.is_due(now_nano)) return false;
  if (candidate.due_since_nano == 0) candidate.due_since_nano = now_nano;
  const uint64_t after_nano = candidate.is_chosen ? 0 : copy_after_nano(candidate);
  return after_nano + (now_nano - candidate.due_since_nano) > options_.longest_copy_wait_nano;
}

// Skips candidates that were not copied in time, unless an existing content covers their window.
void ProvisionalCaptures::skip_expired(uint64_t now_nano) {
  for (auto at = candidates_.begin(); at != candidates_.end();) {
    const auto next = std::next(at);
    if (has_expired(at->second, now_nano) && !find_content(at)) {
      note_skipped(at->second, has_token_ ? SkipReason::kBusy : SkipReason::kRate);
      drop(at);
    }
    at = next;
  }
}

// The most urgent of each user, then the second of each, and so on; first the user whose last copy is oldest.
std::vector<ProvisionalCaptures::Id> ProvisionalCaptures::due_in_turn(uint64_t now_nano) {
  struct Due {
    Urgency urgency;
    uid_t user = 0;
    Id id = 0;
    size_t number = 0;  // among the user's
    uint64_t last_copy = 0;
  };
  std::vector<Due> due;
  for (const auto& [id, candidate] : candidates_) {
    if (candidate.is_due(now_nano)) due.push_back({candidate.urgency(), candidate.user, id});
  }
  std::ranges::stable_sort(due, std::greater<>(), &Due::urgency);
  std::map<uid_t, size_t> counts;
  for (Due& one : due) {
    one.number = counts[one.user]++;
    one.last_copy = last_copies_[one.user];
  }
  std::ranges::stable_sort(due, {}, [](const Due& one) { return std::pair(one.number, one.last_copy); });
  std::vector<Id> ids;
  ids.reserve(due.size());
  for (const Due& one : due) ids.push_back(one.id);
  return ids;
}

bool ProvisionalCaptures::copy(Candidates::iterator wanted, uint64_t now_nano) {
  if (find_content(wanted)) return true;
  has_token_ = has_token_ || copies_.take(now_nano);
  const uid_t user = wanted->second.user;
  if (!has_token_ || !submit(job_of(wanted))) return false;
  has_token_ = false;
  last_copies_[user] = ++copies_taken_;
  return true;
}

// Copies as many as the worker accepts and the rate allows. The recorders still hold the others for a while.
void ProvisionalCaptures::copy_due(uint64_t now_nano) {
  if (candidates_.empty()) last_copies_.clear();
  skip_expired(now_nano);
  bool goes_on = true;
  for (Id id : due_in_turn(now_nano)) {
    const auto wanted = candidates_.find(id);
    // An earlier copy of this loop may have included it.
    if (wanted == candidates_.end() || wanted->second.state != State::kWaiting) continue;
    goes_on = copy(wanted, now_nano);
    if (!goes_on) break;
  }
  next_due_nano_ = UINT64_MAX;
  for (const auto& [id, candidate] : candidates_) {
    if (candidate.state != State::kWaiting) continue;
    next_due_nano_ = std::min(next_due_nano_, std::max(candidate.copy_nano, goes_on ? 0 : now_nano + kRetryNano));
  }
}

// Uses the content of another candidate if it covers the whole window.
bool ProvisionalCaptures::find_content(Candidates::iterator wanted) {
  const Candidate& candidate = wanted->second;
  for (const auto& [id, other] : candidates_) {
    const ContentPtr& content = other.content;
    if (!content || content->program != candidate.serial || content->facts.made.truncated) continue;
    if (content->begin_nano > candidate.begin_nano || candidate.end_nano > content->end_nano) continue;
    became_made(wanted, ContentPtr(content));
    return true;
  }
  return false;
}

bool ProvisionalCaptures::may_share(const CaptureJob& job, const Candidate& candidate) const {
  if (candidate.state != State::kWaiting || candidate.serial != job.program->serial) return false;
  if (job.subjects.size() >= options_.most_sharing) return false;
  if (candidate.begin_nano > job.end_nano || job.begin_nano > candidate.end_nano) return false;
  const uint64_t longest_nano = std::max(
      {options_.longest_shared_nano, job.end_nano - job.begin_nano, candidate.end_nano - candidate.begin_nano});
  return std::max(job.end_nano, candidate.end_nano) - std::min(job.begin_nano, candidate.begin_nano) <= longest_nano;
}

// Adds all candidates that can share the content. Uses the program's current state: its first events may be new.
CaptureJob ProvisionalCaptures::job_of(Candidates::iterator first) {
  ProgramPtr program = surroundings_.find_program(first->second.serial);
  if (!program) program = first->second.program;
  CaptureJob job = admission_.job_of(program, first->second.begin_nano, first->second.end_nano);
  job.begin_nano = first->second.begin_nano;  // has the margin already
  job.owner = JobOwner::kProvisionalCaptures;
  for (auto at = candidates_.begin(); at != candidates_.end(); ++at) {
    Candidate& candidate = at->second;
    if (at != first && !may_share(job, candidate)) continue;
    job.begin_nano = std::min(job.begin_nano, candidate.begin_nano);
    job.end_nano = std::max(job.end_nano, candidate.end_nano);
    job.subjects.push_back(candidate.subject);
    candidate.state = State::kMaking;
    ids_[candidate.subject.id] = at->first;
  }
  return job;
}

bool ProvisionalCaptures::submit(CaptureJob job) {
  const std::vector<CaptureSubject> subjects = job.subjects;
  if (admission_.try_submit(job)) return true;
  for (const CaptureSubject& subject : subjects) find(subject)->second.state = State::kWaiting;
  return false;
}

// ---- results of jobs ------------------------------------------------------------------------------------------------

// The time until the minute is closed, and a margin for the requests that follow then.
uint64_t ProvisionalCaptures::hold_nano(const Candidate& candidate) const {
  const uint64_t left_nano = candidate.minute_end_nano - std::min(candidate.minute_end_nano, now_nano_);
  return std::min(left_nano, options_.minute_nano) + options_.close_after_nano + kHoldMarginNano;
}

void ProvisionalCaptures::became_made(Candidates::iterator at, const ContentPtr& content) {
  Candidate& candidate = at->second;
  candidate.state = State::kMade;
  candidate.content = content;
  candidate.program.reset();
  if (!candidate.is_chosen) {
    if (!candidate.subject.trace_id.is_zero()) {
      surroundings_.announce(candidate.subject, candidate.window(), hold_nano(candidate));
    }
    return;
  }
  surroundings_.send(candidate.subject, *content);
  candidates_.erase(at);
}

void ProvisionalCaptures::give(const std::vector<CaptureSubject>& subjects, const ContentPtr& content) {
  for (const CaptureSubject& subject : subjects) {
    auto at = find(subject);
    if (at != candidates_.end()) became_made(at, content);  // otherwise a slower request has displaced it
  }
}

void ProvisionalCaptures::made(const CaptureJob& job, ReadyCapture capture) {
  give(job.subjects, pool_.add(made_content(job, std::move(capture))));
  while (bytes() > options_.most_bytes && drop_shortest()) {
  }
  show_provisional_bytes(bytes());
}

void ProvisionalCaptures::skipped(const CaptureJob& job, SkipReason reason) {
  for (const CaptureSubject& subject : job.subjects) {
    auto at = find(subject);
    if (at == candidates_.end()) continue;
    note_skipped(at->second, reason);
    candidates_.erase(at);
  }
}

// Of the user with the most bytes, so that no user's requests displace those of others. Drops all that share a content.
bool ProvisionalCaptures::drop_shortest() {
  std::map<uid_t, std::map<const MadeContent*, uint64_t>> users;  // the longest request of each content
  std::map<uid_t, uint64_t> bytes_of_users;
  for (const auto& [id, candidate] : candidates_) {
    if (!candidate.content) continue;
    auto [content, is_new] = users[candidate.content->uid].try_emplace(candidate.content.get(), 0);
    if (is_new) bytes_of_users[candidate.content->uid] += candidate.content->bytes->size();
    content->second = std::max(content->second, candidate.duration_nano());
  }
  if (bytes_of_users.empty()) return false;
  const auto by_second = [](const auto& entry) { return entry.second; };
  const auto& contents = users[std::ranges::max_element(bytes_of_users, {}, by_second)->first];
  const MadeContent* dropped = std::ranges::min_element(contents, {}, by_second)->first;
  std::erase_if(candidates_, [&](const auto& entry) {
    if (entry.second.content.get() != dropped) return false;
    admission_.note_skipped(entry.second.subject, *dropped, SkipReason::kMemory);
    hand_on(entry.second);
    return true;
  });
  return true;
}

void ProvisionalCaptures::finish() {
  finished_ = true;
  std::vector<const Candidate*> longest_first;
  for (const auto& [id, candidate] : candidates_) longest_first.push_back(&candidate);
  std::ranges::stable_sort(longest_first, std::greater<>(), &Candidate::duration_nano);
  for (const Candidate* candidate : longest_first) {
    if (candidate->content)
      surroundings_.send(candidate->subject, *candidate->content);
    else
      note_skipped(*candidate, SkipReason::kBusy);
  }
  candidates_.clear();
  show_provisional_bytes(bytes());
}

}  // namespace fathom::agent
