// ProcessServices: the services of a timeline's processes, by node and process id.
//
// Thread safety: a plain value. Ownership: views into the timeline.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "query/timeline/timeline.h"

namespace fathom::query {

class ProcessServices {
 public:
  explicit ProcessServices(const Timeline& timeline);

  // Empty: the timeline does not have this process.
  std::string_view service_of(const store::NodeId& node_id, uint32_t pid) const;

 private:
  std::map<std::pair<store::NodeId, uint32_t>, std::string_view> services_;
};

}  // namespace fathom::query
