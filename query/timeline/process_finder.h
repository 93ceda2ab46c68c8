// ProcessFinder: finds the process of a timeline that a program's spans belong to, by the program's resource.
//
// Rules: if an agent added node and process id (origin.h), that process. Otherwise the process with the same service,
// process id and host. If the host is missing, or is no known node's (as in a container): the only captured process
// with that service and process id. If no rule matches, a new process. Thread safety: none. Ownership: none; the
// processes must outlive it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "query/timeline/origin.h"
#include "query/timeline/timeline.h"

namespace fathom::query {

class ProcessFinder {
 public:
  // Of captures; those that are made are put behind them.
  explicit ProcessFinder(std::vector<TimelineProcess>& processes);

  size_t find_or_make(const Origin& origin);

 private:
  struct Captured {
    size_t process = 0;
    size_t many = 0;
  };

  using Words = std::tuple<std::string, std::string, std::string>;  // service, process id, host

  size_t find_or_make_named(const Origin& origin);
  size_t make(const Origin& origin);
  std::optional<size_t> the_only_captured(const Origin& origin) const;

  std::vector<TimelineProcess>& processes_;
  std::map<std::pair<store::NodeId, uint32_t>, size_t> named_;
  std::map<Words, size_t> exact_;
  std::map<std::pair<std::string, std::string>, Captured> captured_;  // by service and process id
  std::set<std::string> hosts_;                                       // host names of known nodes
};

}  // namespace fathom::query
