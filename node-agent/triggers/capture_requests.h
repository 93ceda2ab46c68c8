// CaptureRequests: the triggers kRequested and kRemote: captures requested by a collector or for another process here.
//
// Purpose: finds the processes that a request means, by trace, service or process id, and answers when all their
// captures are made. Of each process, one capture for a user's request is made at a time. When a trigger captures or
// announces one process of a trace, the others are captured or held: the collector requests those of other nodes, this
// class those of this node. If a trace is requested again, only missing time is captured. Spans that have just ended
// are found kSpansKnownNano later. Thread safety: none, belongs to the agent's loop. Ownership: what it refers to must
// outlive it; `answer` is called once, or never if this is destroyed before. Errors: as text in the answer. Units:
// nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/time.h"
#include "node-agent/control.h"
#include "node-agent/triggers/capture_admission.h"
#include "node-agent/triggers/captured_windows.h"
#include "node-agent/triggers/held_traces.h"
#include "node-agent/triggers/provisional_captures.h"
#include "node-agent/triggers/trace_memory.h"
#include "node-agent/triggers/watched_programs.h"

namespace fathom::agent {

class CaptureRequests {
 public:
  // A span that has ended is known when its program's pool was read, which is after 300 ms at the latest (Drain).
  static constexpr uint64_t kSpansKnownNano = 500 * kNanosPerMilli;

  // The parts that requests use; all outlive this.
  struct Host {
    const WatchedPrograms& programs;
    const TraceMemory& traces;
    SharedTimes& times;
    const Sources& sources;
    CaptureWorker& worker;
    ProvisionalCaptures& provisional;
    HeldTraces& held;
  };
  // `send`: sends a capture that was held.
  using Send = std::function<void(const CaptureSubject&, const MadeContent&)>;
  CaptureRequests(boost::asio::io_context& loop, CaptureAdmission& admission, const Host& host, Send send)
      : loop_(loop), admission_(admission), host_(host), send_(std::move(send)) {}
  ~CaptureRequests() { *alive_ = false; }

  void capture(CaptureRequest request, std::function<void(CaptureAnswer)> answer);
  // Call when a capture is sent. Later, the trace's other processes are captured, unless it answers a request itself.
  void sent(const CaptureSubject& subject, const MadeContent& content);
  // A request of this program may be among the slowest: holds captures of the trace's other processes.
  void announced(const TraceId& trace_id, const ProgramWindow& own, uint64_t hold_nano);
  // Sends a held capture, also one that was requested while it was being made. Returns its id.
  CaptureId send_held(const TraceId& trace_id, const MadeContent& content, const std::string& reason);
  // A window that counts as captured gets no capture, so that a later request may capture it.
  void not_made(const TraceId& trace_id, const ProgramWindow& window) {
    captured_.take_back(window.program, trace_id, window.window, now_monotonic_nano());
  }
  // A trigger's job is over: its capture was made, or skipped.
  void settle(const CaptureJob& job, std::optional<SkipReason> skipped);

 private:
  struct Target;
  std::vector<Target> targets_of(const CaptureRequest& request, const TimeWindow& window, uint64_t now_nano) const;
  std::vector<Target> targets_of_trace(const TraceId& trace_id, uint64_t now_nano) const;
  void add_open_spans(const TraceId& trace_id, uint64_t now_nano, std::vector<Target>& targets) const;
  std::vector<Target> targets_of_programs(const CaptureRequest& request, uint64_t now_nano) const;
  void ring_for(const CaptureRequest& request, const Target& target);
  void make(const CaptureRequest& request, const std::shared_ptr<CaptureRequester>& requester);
  void make_of_others(const CaptureSubject& subject, uint32_t program, uint32_t pid, uint64_t end_nano);
  // Captures what is not captured yet of the trace, in processes with spans in the window; nobody waits for an answer.
  void make_missing(const CaptureRequest& request, const TimeWindow& window);
  void look_again(const CaptureRequest& request, const TimeWindow& window);
  void make(std::span<const Target> targets, const CaptureRequest& request,
            const std::shared_ptr<CaptureRequester>& requester);
  // Returns the processes without a new hold: theirs is held already, or there are too many. `asking`: the program
  // whose request it is, and the window to hold; zeros: unknown.
  std::vector<std::shared_ptr<const WatchedProgram>> hold(const TraceId& trace_id, const ProgramWindow& asking,
                                                          uint64_t hold_nano);
  // False: nothing of the trace was kept.
  bool send_kept(const CaptureRequest& request, CaptureRequester& requester);
  // Reduces each target to the time that is not captured yet.
  std::vector<Target> missing_of(std::vector<Target> targets, CaptureRequester& requester);
  // Leaves out windows that are captured or kept already. Returns the number of processes that have nothing left.
  size_t leave_out(std::vector<Target>& targets, const std::vector<ProgramWindow>& kept, uint64_t now_nano);
  bool leave_missing_part(Target& target, const std::vector<TimeWindow>& others) const;
  void ask_for(const Target& target, const CaptureRequest& request, const std::shared_ptr<CaptureRequester>& requester);
  std::optional<SkipReason> submit(CaptureJob& job);

  boost::asio::io_context& loop_;
  CaptureAdmission& admission_;
  const Host host_;
  const Send send_;
  std::set<uint32_t> requested_;  // programs with a user's capture that is being made
  CapturedWindows captured_;      // sent, or being made to be sent
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace fathom::agent
