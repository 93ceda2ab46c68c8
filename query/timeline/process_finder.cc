#include "query/timeline/process_finder.h"

#include <cstdlib>

namespace fathom::query {

namespace {

std::string text_of(const store::StoredSpan& stored, std::string_view key) {
  for (const auto& attribute : stored.resource.attributes) {
    if (attribute.key == key) return store::value_text(attribute.value);
  }
  return "";
}

}  // namespace

Origin origin_of(const store::StoredSpan& stored) {
  return {std::string(stored.service), text_of(stored, "host.name"), text_of(stored, "process.pid"),
          text_of(stored, "service.instance.id")};
}

ProcessFinder::ProcessFinder(std::vector<TimelineProcess>& processes) : processes_(processes) {
  for (size_t p = 0; p < processes.size(); ++p) {
    const TimelineProcess& process = processes[p];
    std::string pid = std::to_string(process.pid);
    exact_.try_emplace({process.service, pid, process.host_name}, p);
    hosts_.insert(process.host_name);
    Captured& captured = captured_[{process.service, pid}];
    if (captured.many++ == 0) captured.process = p;
  }
}

size_t ProcessFinder::find_or_make(const Origin& origin) {
  auto exact = exact_.find({origin.service, origin.pid, origin.host});
  if (exact != exact_.end()) return exact->second;
  if (auto captured = the_only_captured(origin)) return *captured;
  uint32_t pid = static_cast<uint32_t>(std::strtoul(origin.pid.c_str(), nullptr, 10));
  processes_.push_back({.host_name = origin.host, .service = origin.service, .pid = pid});
  exact_.emplace(std::tuple(origin.service, origin.pid, origin.host), processes_.size() - 1);
  return processes_.size() - 1;
}

std::optional<size_t> ProcessFinder::the_only_captured(const Origin& origin) const {
  auto captured = captured_.find({origin.service, origin.pid});
  if (captured == captured_.end() || captured->second.many != 1) return std::nullopt;
  if (!origin.host.empty() && hosts_.contains(origin.host)) return std::nullopt;
  return captured->second.process;
}

}  // namespace fathom::query
