#include "node-agent/kernel/choices.h"

#include <algorithm>

namespace fathom::agent::kernel {

const Choice* ChoiceFilter::find(int32_t pid, uint64_t monotonic_nano) const {
  auto of_pid = by_pid_.find(pid);
  if (of_pid == by_pid_.end()) return nullptr;
  for (const Choice& choice : of_pid->second) {
    if (monotonic_nano >= choice.begin_nano && monotonic_nano <= choice.end_nano) return &choice;
  }
  return nullptr;
}

std::vector<ProcessId> ChoiceFilter::current() const {
  std::vector<ProcessId> processes;
  for (const auto& [pid, choices] : by_pid_) {
    for (const Choice& choice : choices) {
      if (choice.end_nano == UINT64_MAX) processes.push_back(choice.process);
    }
  }
  return processes;
}

uint64_t ChoiceFilter::all_from_nano(uint64_t end_nano) const {
  uint64_t from_nano = by_pid_.empty() ? end_nano : 0;
  for (const auto& [pid, choices] : by_pid_) {
    uint64_t youngest_nano = 0;
    for (const Choice& choice : choices) youngest_nano = std::max(youngest_nano, std::min(choice.begin_nano, end_nano));
    from_nano = std::max(from_nano, youngest_nano);
  }
  return from_nano;
}

const Choice* Choices::current(pid_t pid) const {
  auto found = current_.find(pid);
  return found == current_.end() ? nullptr : &found->second;
}

void Choices::begin(const ProcessId& process, uint64_t now_nano) {
  current_[process.pid] = {process, now_nano};
}

void Choices::end(pid_t pid, uint64_t now_nano) {
  auto found = current_.find(pid);
  if (found == current_.end()) return;
  found->second.end_nano = now_nano;
  past_.push_back(found->second);
  current_.erase(found);
  if (past_.size() > kMostChosen) past_.pop_front();
}

std::vector<ProcessId> Choices::processes() const {
  std::vector<ProcessId> processes;
  processes.reserve(current_.size());
  for (const auto& [pid, choice] : current_) processes.push_back(choice.process);
  return processes;
}

ChoiceFilter Choices::filter(std::span<const ProcessId> processes) const {
  ChoiceFilter filter;
  auto add = [&](const Choice& choice) {
    const bool wanted = processes.empty() || std::ranges::find(processes, choice.process) != processes.end();
    if (wanted) filter.add(choice);
  };
  std::ranges::for_each(past_, add);
  for (const auto& [pid, choice] : current_) add(choice);
  return filter;
}

}  // namespace fathom::agent::kernel
