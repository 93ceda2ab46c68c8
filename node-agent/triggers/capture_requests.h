// CaptureRequests: the triggers kRequested and kRemote: captures that a collector asks for.
//
// Purpose: finds the processes that a request means, by trace, by service or by process id, and answers when all of
// their captures are made. One capture for a user's request is made of a process at a time. Thread safety: none; on the
// agent's loop. Ownership: what it refers to must outlive it; `answer` is called once, or never if this ends before.
// Errors: as words in the answer. Units: nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "node-agent/control.h"
#include "node-agent/triggers/capture_admission.h"
#include "node-agent/triggers/trace_memory.h"
#include "node-agent/triggers/watched_programs.h"

namespace fathom::agent {

class CaptureRequests {
 public:
  // What requests are about.
  struct Host {
    const WatchedPrograms& programs;
    const TraceMemory& traces;
    SharedTimes& times;
    const Sources& sources;
    CaptureWorker& worker;
  };
  CaptureRequests(boost::asio::io_context& loop, CaptureAdmission& admission, const Host& host)
      : loop_(loop), admission_(admission), host_(host) {}
  ~CaptureRequests() { *alive_ = false; }

  void capture(CaptureRequest request, std::function<void(CaptureAnswer)> answer);
  // A job is over: its capture was made, or skipped.
  void settle(const CaptureJob& job, std::optional<SkipReason> skipped);

 private:
  struct Target;
  std::vector<Target> targets_of(const CaptureRequest& request, uint64_t now_nano) const;
  std::vector<Target> targets_of_trace(const TraceId& trace_id, uint64_t now_nano) const;
  void add_open_spans(const TraceId& trace_id, uint64_t now_nano, std::vector<Target>& targets) const;
  std::vector<Target> targets_of_programs(const CaptureRequest& request, uint64_t now_nano) const;
  void ring_for(const CaptureRequest& request, const Target& target);
  void ask_for(const Target& target, const CaptureRequest& request, const std::shared_ptr<CaptureRequester>& requester);
  std::optional<SkipReason> submit(CaptureJob& job);

  boost::asio::io_context& loop_;
  CaptureAdmission& admission_;
  const Host host_;
  std::set<uint32_t> requested_;  // programs of which a user's capture is being made
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace fathom::agent
