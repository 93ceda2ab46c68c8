#include "node-agent/sources/sources.h"

#include <algorithm>
#include <iterator>

namespace fathom::agent {

namespace {

template <typename Item>
void append(std::vector<Item>& all, std::vector<Item> more) {
  std::ranges::move(more, std::back_inserter(all));
}

}  // namespace

void Sources::follow(const ProcessId& process, FollowReason reason) const {
  for (const auto& source : all_) source->follow(process, reason);
}

void Sources::forget(const ProcessId& process, FollowReason reason) const {
  for (const auto& source : all_) source->forget(process, reason);
}

bool Sources::await_first_data(const WatchedProgram& program) const {
  return std::ranges::any_of(all_, [&](const auto& source) { return source->awaits_first_data(program); });
}

std::optional<int> Sources::exit_status(const ProcessId& process) const {
  for (const auto& source : all_) {
    if (const std::optional<int> status = source->exit_status(process)) return status;
  }
  return std::nullopt;
}

std::vector<Availability> Sources::availability() const {
  std::vector<Availability> all;
  for (const auto& source : all_) append(all, source->availability());
  return all;
}

std::vector<std::pair<std::string, uint64_t>> Sources::losses() const {
  std::vector<std::pair<std::string, uint64_t>> all;
  for (const auto& source : all_) append(all, source->losses());
  return all;
}

}  // namespace fathom::agent
