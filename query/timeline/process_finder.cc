#include "query/timeline/process_finder.h"

#include <cstdlib>

namespace fathom::query {

ProcessFinder::ProcessFinder(std::vector<TimelineProcess>& processes) : processes_(processes) {
  for (size_t p = 0; p < processes.size(); ++p) {
    const TimelineProcess& process = processes[p];
    std::string pid = std::to_string(process.pid);
    if (!process.node_id.is_zero()) named_.try_emplace({process.node_id, process.pid}, p);
    exact_.try_emplace({process.service, pid, process.host_name}, p);
    hosts_.insert(process.host_name);
    Captured& captured = captured_[{process.service, pid}];
    if (captured.many++ == 0) captured.process = p;
  }
}

size_t ProcessFinder::find_or_make(const Origin& origin) {
  if (origin.names_process()) return find_or_make_named(origin);
  auto exact = exact_.find({origin.service, origin.pid, origin.host});
  if (exact != exact_.end()) return exact->second;
  if (auto captured = the_only_captured(origin)) return *captured;
  return make(origin);
}

// If other spans gave only the program's own names, and their process has no capture, it is taken to be the same one.
size_t ProcessFinder::find_or_make_named(const Origin& origin) {
  auto [place, is_new] = named_.try_emplace({origin.node_id, origin.node_pid}, 0);
  if (!is_new) return place->second;
  auto exact = exact_.find({origin.service, origin.pid, origin.host});
  const bool is_same = exact != exact_.end() && processes_[exact->second].node_id.is_zero();
  place->second = is_same ? exact->second : make(origin);
  processes_[place->second].node_id = origin.node_id;
  processes_[place->second].pid = origin.node_pid;
  return place->second;
}

size_t ProcessFinder::make(const Origin& origin) {
  const auto pid = static_cast<uint32_t>(std::strtoul(origin.pid.c_str(), nullptr, 10));
  processes_.push_back({.host_name = origin.host, .service = origin.service, .pid = pid});
  exact_.try_emplace({origin.service, origin.pid, origin.host}, processes_.size() - 1);
  return processes_.size() - 1;
}

std::optional<size_t> ProcessFinder::the_only_captured(const Origin& origin) const {
  auto captured = captured_.find({origin.service, origin.pid});
  if (captured == captured_.end() || captured->second.many != 1) return std::nullopt;
  if (!origin.host.empty() && hosts_.contains(origin.host)) return std::nullopt;
  return captured->second.process;
}

}  // namespace fathom::query
