// ProvisionalCaptures: captures of requests that may turn out to be the slowest of their operation and minute.
//
// Purpose: the trigger kSlow. A request that is among the slowest so far (slowest_requests.h) is captured after a
// moment, in which a slower one may take its place; what was made is kept in memory until its minute is over, and then
// sent, or dropped as soon as slower ones came. Requests of one process whose times overlap share one content: a stall
// makes many slow. Minutes are those of the calendar, counted on CLOCK_MONOTONIC: when the calendar jumps, all that is
// made is sent, and a new count begins. Thread safety: none, belongs to the agent's loop; the worker makes the
// captures. One of whose trace another process is a candidate too, and which loses its place, is handed on to be held
// (held_traces.h). Ownership: what it refers to must outlive it. Bounds: `most_candidates`, and `most_bytes` of
// contents: beyond either, of the user who has most the shortest request's is dropped. Copies have a rate, in which
// users take turns; a user's most unusual request comes first, and one that waits for longer than
// `longest_copy_wait_nano` is skipped. Errors: what is not captured is counted as skipped
// (fathom_agent_captures_skipped_total{trigger="slow"}), also a request that has no place though it may be slow. Units:
// nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "node-agent/triggers/capture_admission.h"
#include "node-agent/triggers/captured_windows.h"
#include "node-agent/triggers/finished_spans.h"
#include "node-agent/triggers/made_content.h"
#include "node-agent/triggers/refused_requests.h"
#include "node-agent/triggers/slowest_requests.h"

namespace fathom::agent {

class ProvisionalCaptures {
 public:
  using ProgramPtr = std::shared_ptr<const WatchedProgram>;
  using ContentPtr = std::shared_ptr<const MadeContent>;
  // One that is wanted for another process's sake alone, until then.
  struct HandedOn {
    ProgramPtr program;
    TraceId trace_id;
    TimeWindow window;
    ContentPtr content;  // null: it is not made; else `program` is null
    uint64_t until_nano = 0;
  };
  struct Surroundings {
    std::function<ProgramPtr(uint32_t serial)> find_program;  // as it is now; null: it is gone
    // Of one that was made: the other processes of its trace shall hold theirs for so long.
    std::function<void(const CaptureSubject&, uint32_t program, uint64_t hold_nano)> announce;
    // Of one that is chosen.
    std::function<void(const CaptureSubject&, const MadeContent&)> send;
    std::function<void(const HandedOn&)> hand_on;
  };

  ProvisionalCaptures(const ProvisionalOptions& options, CaptureAdmission& admission, Surroundings surroundings);

  // Whether a request that ended now is among the slowest; or may be, cannot have a place, and is to be reported
  // (refused_requests.h). `operation`: of service and name.
  bool wants(uid_t user, uint64_t operation, uint64_t start_nano, uint64_t end_nano);
  // False: it is not wanted.
  bool add(const ProgramPtr& program, const FinishedSpan& span, uint64_t operation);
  // One that is captured already: it only takes its place.
  void note_captured(const ProgramPtr& program, const FinishedSpan& span, uint64_t operation);
  // Another process of the trace is captured: all that there is of it is sent, when it is made. Of which programs.
  std::vector<ProgramWindow> choose_trace(const TraceId& trace_id, uint64_t now_nano);
  // Another process of the trace has a candidate: those of all programs but `besides` are handed on, should they lose
  // their places until then. What there is of all programs.
  std::vector<ProgramWindow> hold(const TraceId& trace_id, uint32_t besides, uint64_t until_nano);
  // Copies what is due, and sends what belongs to minutes that are over.
  void step(uint64_t now_nano);
  // Of a job of ours.
  void made(const CaptureJob& job, ReadyCapture capture);
  void skipped(const CaptureJob& job, SkipReason reason);
  // For the agent's end: sends all that is made, whether its minute is over or not; the longest request first, because
  // there may be no time for all. What is not made is skipped, also what comes later.
  void finish();

  size_t waiting() const { return candidates_.size(); }
  uint64_t bytes() const { return pool_.bytes(); }

 private:
  using Id = SlowestRequests::Id;
  enum class State { kWaiting, kMaking, kMade };
  // The greatest is copied first: of those that are chosen, or else of the others, the one that took most times its
  // operation's threshold; of several of these the longest.
  using Urgency = std::tuple<bool, double, uint64_t>;
  struct Candidate {
    ProgramPtr program;  // until it is made
    uint32_t serial = 0;
    uid_t user = 0;
    CaptureSubject subject;
    uint64_t begin_nano = 0;
    uint64_t end_nano = 0;
    double times_of_threshold = 1;  // that it took
    uint64_t minute_end_nano = 0;   // of the minute in which it began
    uint64_t copy_nano = 0;         // when it is due
    uint64_t due_since_nano = 0;    // when it was seen to be due; 0: not yet
    uint64_t held_until_nano = 0;   // another process may want it until then
    State state = State::kWaiting;
    bool is_chosen = false;  // to be sent when it is made
    ContentPtr content;      // when it is made
    ProgramWindow window() const { return {serial, {begin_nano, end_nano}}; }
    uint64_t duration_nano() const { return end_nano - begin_nano; }
    bool is_due(uint64_t now_nano) const { return state == State::kWaiting && copy_nano <= now_nano; }
    Urgency urgency() const { return {is_chosen, times_of_threshold, duration_nano()}; }
  };
  using Candidates = std::map<Id, Candidate>;

  uint64_t minute_of(uint64_t monotonic_nano) const;
  uint64_t end_of_minute_nano(uint64_t monotonic_nano) const;
  SlowestRequests::Request request_of(const WatchedProgram& program, const FinishedSpan& span,
                                      uint64_t operation) const;
  CaptureSubject subject_of(const FinishedSpan& span) const;
  // Nothing: it has no place, and is reported if it may be slow all the same.
  std::optional<SlowestRequests::Placed> place_or_report(const ProgramPtr& program, const FinishedSpan& span,
                                                         uint64_t operation);
  std::optional<SlowestRequests::Placed> place(const WatchedProgram& program, const FinishedSpan& span,
                                               uint64_t operation);
  void follow_calendar();
  void close_minutes(uint64_t now_nano);
  void choose(Candidates::iterator at, uint64_t now_nano);
  void send_made();
  // It is not to be sent for its own sake any more.
  void drop(Candidates::iterator at);
  void hand_on(const Candidate& candidate) const;
  // False: there are too many.
  uint64_t copy_after_nano(const Candidate& candidate) const;
  bool make_room(uid_t user);
  void note_skipped(const Candidate& candidate, SkipReason reason);
  bool has_expired(Candidate& candidate, uint64_t now_nano) const;
  void skip_expired(uint64_t now_nano);
  std::vector<Id> due_in_turn(uint64_t now_nano);
  // False: no more now.
  bool copy(Candidates::iterator wanted, uint64_t now_nano);
  void copy_due(uint64_t now_nano);
  bool find_content(Candidates::iterator wanted);
  bool may_share(const CaptureJob& job, const Candidate& candidate) const;
  CaptureJob job_of(Candidates::iterator first);
  bool submit(CaptureJob job);
  Candidates::iterator find(const CaptureSubject& subject);
  void became_made(Candidates::iterator at, const ContentPtr& content);
  void give(const std::vector<CaptureSubject>& subjects, const ContentPtr& content);
  // False: nothing is made.
  bool drop_shortest();
  uint64_t hold_nano(const Candidate& candidate) const;

  const ProvisionalOptions options_;
  CaptureAdmission& admission_;
  const Surroundings surroundings_;
  SlowestRequests slowest_;
  RefusedRequests refused_;
  ContentPool pool_;
  Candidates candidates_;
  std::map<CaptureId, Id> ids_;  // by the capture's id, of those that are being made
  TokenBucket copies_;
  bool has_token_ = false;                 // taken from it, and not used: the worker was busy
  std::map<uid_t, uint64_t> last_copies_;  // by user: the number of the last one
  uint64_t copies_taken_ = 0;
  uint64_t unix_minus_monotonic_nano_ = 0;  // modulo 2^64
  uint64_t now_nano_ = 0;                   // of the last step
  uint64_t next_due_nano_ = 0;
  bool finished_ = false;
};

}  // namespace fathom::agent
