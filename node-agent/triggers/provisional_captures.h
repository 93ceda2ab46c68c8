// ProvisionalCaptures: captures of requests that may turn out to be the slowest of their operation and minute.
//
// Purpose: the trigger kSlow. A request that is among the slowest so far (slowest_requests.h) is captured after a short
// delay, in which a slower one may replace it. The capture stays in memory until its minute is over, and is then sent;
// it is dropped when slower requests displace it. Requests of one process that overlap in time share one content,
// because a stall makes many requests slow. Minutes are those of the wall clock, counted on CLOCK_MONOTONIC: when the
// wall clock jumps, all captures are sent and a new count begins. A candidate that is displaced while another process
// of its trace has one, too, is handed on to be held (held_traces.h). Thread safety: none, belongs to the agent's loop;
// the worker makes the captures. Ownership: what it refers to must outlive it. Bounds: `most_candidates`, and
// `most_bytes` of contents: beyond either, the shortest request of the user with the most is dropped. Copies have a
// rate, and users take turns. A user's most urgent request comes first; one that waits longer than
// `longest_copy_wait_nano` is skipped. Errors: what is not captured is counted as skipped
// (fathom_agent_captures_skipped_total{trigger="slow"}), including a request that may be slow but gets no place. Units:
// nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "base/slowest_requests.h"
#include "node-agent/triggers/capture_admission.h"
#include "node-agent/triggers/captured_windows.h"
#include "node-agent/triggers/finished_spans.h"
#include "node-agent/triggers/made_content.h"
#include "node-agent/triggers/refused_requests.h"

namespace fathom::agent {

class ProvisionalCaptures {
 public:
  using ProgramPtr = std::shared_ptr<const WatchedProgram>;
  using ContentPtr = std::shared_ptr<const MadeContent>;
  // A displaced candidate that another process of its trace may still request, until `until_nano`.
  struct HandedOn {
    ProgramPtr program;
    TraceId trace_id;
    TimeWindow window;
    ContentPtr content;  // null: not made yet; otherwise `program` is null
    uint64_t until_nano = 0;
  };
  struct Surroundings {
    std::function<ProgramPtr(uint32_t serial)> find_program;  // its current state; null: it is gone
    // A capture was made: the other processes of its trace are to hold theirs for this time.
    std::function<void(const CaptureSubject&, const ProgramWindow&, uint64_t hold_nano)> announce;
    // Sends a capture that was chosen.
    std::function<void(const CaptureSubject&, const MadeContent&)> send;
    std::function<void(const HandedOn&)> hand_on;
    NotMade not_made;
  };

  ProvisionalCaptures(const ProvisionalOptions& options, CaptureAdmission& admission, Surroundings surroundings);

  // Whether to call add() for a request that has ended: it is among the slowest so far, or it may be and gets no place,
  // which add() reports (refused_requests.h). `operation`: a hash of service and operation (operation_key()).
  bool wants(uid_t user, uint64_t operation, uint64_t start_nano, uint64_t end_nano);
  // False: the request gets no place.
  bool add(const ProgramPtr& program, const FinishedSpan& span, uint64_t operation);
  // A request that is captured already: it takes its place, and no capture is made.
  void note_captured(const ProgramPtr& program, const FinishedSpan& span, uint64_t operation);
  // Another process of the trace is captured: chooses all candidates of the trace. Returns their windows.
  std::vector<ProgramWindow> choose_trace(const TraceId& trace_id, uint64_t now_nano);
  // Another process of the trace has a candidate: candidates of all programs except `besides` are handed on if they are
  // displaced before `until_nano`. Returns the windows of all programs' candidates.
  std::vector<ProgramWindow> hold(const TraceId& trace_id, uint32_t besides, uint64_t until_nano);
  // Copies the candidates that are due, and sends those of minutes that are over.
  void step(uint64_t now_nano);
  // For a job of this owner.
  void made(const CaptureJob& job, ReadyCapture capture);
  void skipped(const CaptureJob& job, SkipReason reason);
  // For the agent's shutdown: sends all captures that are made, the longest request first, because the time may not
  // suffice for all. Requests that are not captured yet are skipped, and so are later ones.
  void finish();

  size_t waiting() const { return candidates_.size(); }
  uint64_t bytes() const { return pool_.bytes(); }

 private:
  using Id = SlowestRequests::Id;
  enum class State { kWaiting, kMaking, kMade };
  // The greatest is copied first: chosen candidates before others, then the greatest ratio of duration to threshold,
  // then the longest request.
  using Urgency = std::tuple<bool, double, uint64_t>;
  struct Candidate {
    ProgramPtr program;  // null when it is made
    uint32_t serial = 0;
    uid_t user = 0;
    CaptureSubject subject;
    uint64_t begin_nano = 0;
    uint64_t end_nano = 0;
    double times_of_threshold = 1;  // its duration divided by its operation's threshold
    uint64_t minute_end_nano = 0;   // of the minute in which the request began
    uint64_t copy_nano = 0;         // when the copy is due
    uint64_t due_since_nano = 0;    // when a step first found it due; 0: not yet
    uint64_t held_until_nano = 0;   // another process may request it until then
    State state = State::kWaiting;
    bool is_chosen = false;  // is sent as soon as it is made
    ContentPtr content;      // null until it is made
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
  CaptureSubject subject_of(const FinishedSpan& span, const WatchedProgram& program) const;
  // No value: the request gets no place. If it may be slow all the same, that is reported.
  std::optional<SlowestRequests::Placed> place_or_report(const ProgramPtr& program, const FinishedSpan& span,
                                                         uint64_t operation);
  std::optional<SlowestRequests::Placed> place(const WatchedProgram& program, const FinishedSpan& span,
                                               uint64_t operation);
  void follow_calendar();
  void close_minutes(uint64_t now_nano);
  void choose(Candidates::iterator at, uint64_t now_nano);
  void send_made();
  // Removes a displaced candidate; hands it on if another process may request it.
  void drop(Candidates::iterator at);
  void hand_on(const Candidate& candidate) const;
  // The delay from the end of the request's window to its copy.
  uint64_t copy_after_nano(const Candidate& candidate) const;
  bool make_room(uid_t user);  // false: there are too many candidates
  void note_skipped(const Candidate& candidate, SkipReason reason);
  bool has_expired(Candidate& candidate, uint64_t now_nano) const;
  void skip_expired(uint64_t now_nano);
  std::vector<Id> due_in_turn(uint64_t now_nano);
  // False: no further copy now.
  bool copy(Candidates::iterator wanted, uint64_t now_nano);
  void copy_due(uint64_t now_nano);
  bool find_content(Candidates::iterator wanted);
  bool may_share(const CaptureJob& job, const Candidate& candidate) const;
  CaptureJob job_of(Candidates::iterator first);
  bool submit(CaptureJob job);
  Candidates::iterator find(const CaptureSubject& subject);
  void became_made(Candidates::iterator at, const ContentPtr& content);
  void give(const std::vector<CaptureSubject>& subjects, const ContentPtr& content);
  // False: there is no content to drop.
  bool drop_shortest();
  uint64_t hold_nano(const Candidate& candidate) const;

  const ProvisionalOptions options_;
  CaptureAdmission& admission_;
  const Surroundings surroundings_;
  SlowestRequests slowest_;
  RefusedRequests refused_;
  ContentPool pool_;
  Candidates candidates_;
  std::map<CaptureId, Id> ids_;  // of candidates that are being made, by the capture's id
  TokenBucket copies_;
  bool has_token_ = false;                 // a token was taken and not used, because the worker was busy
  std::map<uid_t, uint64_t> last_copies_;  // by user: the number of the user's last copy
  uint64_t copies_taken_ = 0;
  uint64_t unix_minus_monotonic_nano_ = 0;  // modulo 2^64
  uint64_t now_nano_ = 0;                   // of the last step
  uint64_t next_due_nano_ = 0;
  bool finished_ = false;
};

}  // namespace fathom::agent
