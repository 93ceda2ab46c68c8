// Sources: all sources of an agent.
//
// Purpose: what concerns every source, in one call. Thread safety: the list is constant; else as Source (source.h).
// Ownership: of the sources.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "node-agent/sources/source.h"

namespace fathom::agent {

class Sources {
 public:
  explicit Sources(std::vector<std::unique_ptr<Source>> all) : all_(std::move(all)) {}

  size_t size() const { return all_.size(); }
  Source& operator[](size_t place) const { return *all_[place]; }

  void follow(const ProcessId& process, FollowReason reason) const;
  void forget(const ProcessId& process, FollowReason reason) const;
  bool await_first_data(const WatchedProgram& program) const;
  std::optional<int> exit_status(const ProcessId& process) const;
  std::vector<Availability> availability() const;
  std::vector<std::pair<std::string, uint64_t>> losses() const;

 private:
  const std::vector<std::unique_ptr<Source>> all_;
};

}  // namespace fathom::agent
