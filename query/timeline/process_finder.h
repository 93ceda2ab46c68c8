// Which process of a timeline a program's spans belong to, by what their resource says.
//
// Rules: the process of that node and process id, where an agent says them (origin.h). Else that of the same service,
// process id and host. A host that no agent goes by may be what a container calls itself: then, or where none is said,
// the only captured process of that service and process id. Else a new one. Thread safety: none. Ownership: none: the
// processes outlive it.
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

  using Words = std::tuple<std::string, std::string, std::string>;  // service, pid, host

  size_t find_or_make_named(const Origin& origin);
  size_t make(const Origin& origin);
  std::optional<size_t> the_only_captured(const Origin& origin) const;

  std::vector<TimelineProcess>& processes_;
  std::map<std::pair<store::NodeId, uint32_t>, size_t> named_;
  std::map<Words, size_t> exact_;
  std::map<std::pair<std::string, std::string>, Captured> captured_;  // service, pid
  std::set<std::string> hosts_;                                       // that agents go by
};

}  // namespace fathom::query
