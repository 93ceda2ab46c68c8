#include "node-agent/triggers/tracepoint_requests.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/name_pattern.h"
#include "base/utf8.h"

namespace fathom::agent {

namespace {

bool is_meant(const ProgramDetail& program, const TracepointRequest& request) {
  if (program.ended) return false;
  if (request.pid != 0) return static_cast<uint32_t>(program.process.pid) == request.pid;
  return request.service.empty() || program.service == request.service;
}

std::vector<ProgramDetail> addressed_programs(const Agent& agent, const TracepointRequest& request) {
  std::vector<ProgramDetail> programs = agent.details();
  std::erase_if(programs, [&](const ProgramDetail& program) { return !is_meant(program, request); });
  return programs;
}

std::string joined(const TracepointRequest& request) {
  std::string list;
  for (const std::string& pattern : request.patterns) {
    if (!list.empty()) list += ',';
    if (request.action == TracepointAction::kDisable) list += '-';
    list += pattern;
  }
  return list;
}

Result<> switch_all(Agent& agent, const TracepointRequest& request) {
  TracepointSelector selector{.service = request.pid == 0 ? request.service : ""};
  if (request.pid != 0) selector.process = identify_process(static_cast<pid_t>(request.pid));
  return agent.switch_tracepoints(selector, joined(request), request.pid == 0 ? RuleOrigin::kFleet : RuleOrigin::kHere);
}

bool is_listed(const Tracepoint& tracepoint, const TracepointRequest& request) {
  return request.patterns.empty() ||
         std::any_of(request.patterns.begin(), request.patterns.end(),
                     [&](const std::string& pattern) { return fits_pattern(pattern, tracepoint.name); });
}

bool has_switched(const ProgramDetail& program, const TracepointRequest& request) {
  TracepointTable table = program.pool->tracepoints();
  return std::all_of(table.all().begin(), table.all().end(), [&](const Tracepoint& tracepoint) {
    return !is_listed(tracepoint, request) || tracepoint.on == (request.action == TracepointAction::kEnable);
  });
}

ProgramTracepoints list_of(const ProgramDetail& program, const TracepointRequest& request, size_t& room) {
  ProgramTracepoints listed{.pid = static_cast<uint32_t>(program.process.pid), .service = repair_utf8(program.service)};
  TracepointTable table = program.pool->tracepoints();
  for (const Tracepoint& tracepoint : table.all()) {
    if (room == 0 || !is_listed(tracepoint, request)) continue;
    --room;
    listed.tracepoints.push_back(
        {repair_utf8(tracepoint.name), repair_utf8(tracepoint.file), tracepoint.line, tracepoint.on});
  }
  return listed;
}

TracepointAnswer answer_now(const Agent& agent, const TracepointRequest& request) {
  TracepointAnswer answer{.request_id = request.request_id};
  size_t room = kMostListed;
  for (const ProgramDetail& program : addressed_programs(agent, request)) {
    answer.programs.push_back(list_of(program, request, room));
  }
  return answer;
}

}  // namespace

void TracepointRequests::ask(Agent& agent, TracepointRequest request, uint64_t now_nano, Answer answer) {
  if (request.action == TracepointAction::kList) return answer(answer_now(agent, request));
  Result<> switched = switch_all(agent, request);
  if (!switched) return answer({.request_id = request.request_id, .failure = switched.error().message});
  if (switching_.size() >= kMostSwitching) return answer(answer_now(agent, request));
  std::vector<ProgramDetail> left = addressed_programs(agent, request);
  switching_.push_back({std::move(request), std::move(answer), std::move(left), now_nano + kSwitchingNano});
}

// One table more than have switched, so that all looks together read each about once.
bool TracepointRequests::Switching::is_over(uint64_t now_nano) {
  while (!left.empty() && has_switched(left.back(), request)) left.pop_back();
  return left.empty() || now_nano >= deadline_nano;
}

void TracepointRequests::look(const Agent& agent, uint64_t now_nano) {
  for (auto at = switching_.begin(); at != switching_.end();) {
    auto next = std::next(at);
    if (at->is_over(now_nano)) {
      Switching over = std::move(*at);
      switching_.erase(at);
      over.answer(answer_now(agent, over.request));
    }
    at = next;
  }
}

}  // namespace fathom::agent
