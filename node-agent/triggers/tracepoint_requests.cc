#include "node-agent/triggers/tracepoint_requests.h"

#include <algorithm>

#include "base/utf8.h"

namespace fathom::agent {

namespace {

using Action = TracepointRequest::Action;

std::string text_of(std::string_view bytes) {
  return repair_utf8(bytes, bytes.size());
}

bool is_meant(const ProgramDetail& program, const TracepointRequest& request) {
  if (program.ended) return false;
  if (request.pid != 0) return static_cast<uint32_t>(program.process.pid) == request.pid;
  return request.service.empty() || program.service == request.service;
}

std::string joined(const TracepointRequest& request) {
  std::string list;
  for (const std::string& pattern : request.patterns) {
    if (!list.empty()) list += ',';
    if (request.action == Action::kDisable) list += '-';
    list += pattern;
  }
  return list;
}

Result<> switch_all(Agent& agent, const TracepointRequest& request) {
  TracepointSelector selector{.service = request.pid == 0 ? request.service : ""};
  if (request.pid != 0) selector.process = identify_process(static_cast<pid_t>(request.pid));
  return agent.switch_tracepoints(selector, joined(request));
}

bool is_listed(const Tracepoint& tracepoint, const TracepointRequest& request) {
  return request.patterns.empty() ||
         std::any_of(request.patterns.begin(), request.patterns.end(),
                     [&](const std::string& pattern) { return fits_pattern(pattern, tracepoint.name); });
}

ProgramTracepoints list_of(const ProgramDetail& program, const TracepointRequest& request, size_t& room) {
  ProgramTracepoints listed{.pid = static_cast<uint32_t>(program.process.pid), .service = text_of(program.service)};
  TracepointTable table = program.pool->tracepoints();
  for (const Tracepoint& tracepoint : table.all()) {
    if (room == 0 || !is_listed(tracepoint, request)) continue;
    --room;
    bool on = request.action == Action::kList ? tracepoint.on : request.action == Action::kEnable;
    listed.tracepoints.push_back({text_of(tracepoint.name), text_of(tracepoint.file), tracepoint.line, on});
  }
  return listed;
}

}  // namespace

bool fits_pattern(std::string_view pattern, std::string_view name) {
  size_t at = 0, star = std::string_view::npos, behind_star = 0, i = 0;
  while (at < name.size()) {
    if (i < pattern.size() && pattern[i] == '*') {
      star = i++;
      behind_star = at;
    } else if (i < pattern.size() && pattern[i] == name[at]) {
      ++i;
      ++at;
    } else if (star != std::string_view::npos) {
      i = star + 1;
      at = ++behind_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', i) == std::string_view::npos;
}

TracepointAnswer answer_tracepoints(Agent& agent, const TracepointRequest& request) {
  TracepointAnswer answer{.request_id = request.request_id};
  if (request.action != Action::kList) {
    Result<> switched = switch_all(agent, request);
    if (!switched) {
      answer.failure = switched.error().message;
      return answer;
    }
  }
  size_t room = kMostListed;
  for (const ProgramDetail& program : agent.details()) {
    if (is_meant(program, request)) answer.programs.push_back(list_of(program, request, room));
  }
  return answer;
}

}  // namespace fathom::agent
