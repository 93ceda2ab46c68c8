#include "query/timeline/process_services.h"

namespace fathom::query {

ProcessServices::ProcessServices(const Timeline& timeline) {
  for (const TimelineProcess& process : timeline.processes) {
    if (!process.node_id.is_zero()) services_.emplace(std::pair(process.node_id, process.pid), process.service);
  }
}

std::string_view ProcessServices::service_of(const store::NodeId& node_id, uint32_t pid) const {
  const auto found = services_.find({node_id, pid});
  return found == services_.end() ? std::string_view() : found->second;
}

}  // namespace fathom::query
