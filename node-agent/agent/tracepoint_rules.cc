#include "node-agent/agent/tracepoint_rules.h"

#include <algorithm>

#include "client/pool/layout.h"

namespace fathom::agent {

namespace {

std::string_view without_sign(std::string_view pattern) {
  return pattern.substr(pattern.starts_with('-') ? 1 : 0);
}

// Names of tracepoints are texts of a program's code; what is told about them is kept printable.
bool is_pattern(std::string_view pattern) {
  std::string_view name = without_sign(pattern);
  return !name.empty() && name.size() <= 255 &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) { return c > ' ' && c != 0x7f; });
}

Result<std::vector<std::string>> split(std::string_view list) {
  std::vector<std::string> patterns;
  while (!list.empty()) {
    size_t end = std::min(list.find(','), list.size());
    std::string_view pattern = list.substr(0, end);
    if (!is_pattern(pattern)) return invalid("not a pattern for tracepoints: '" + std::string(pattern) + "'");
    patterns.emplace_back(pattern);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  if (patterns.empty()) return invalid("no pattern for tracepoints");
  return patterns;
}

}  // namespace

bool TracepointSelector::covers(const ProcessId& of_process, std::string_view of_service) const {
  if (process) return process->pid == of_process.pid && process->started_ticks == of_process.started_ticks;
  return service.empty() || service == of_service;
}

bool TracepointSelector::operator==(const TracepointSelector& other) const {
  if (process.has_value() != other.process.has_value() || service != other.service) return false;
  return !process || covers(*other.process, {});
}

size_t TracepointRules::bytes() const {
  size_t sum = 0;
  for (const Rule& rule : rules_) sum += rule.pattern.size() + 1;
  return sum;
}

Result<> TracepointRules::add(const TracepointSelector& selector, std::string_view list) {
  Result<std::vector<std::string>> patterns = split(list);
  if (!patterns) return patterns.error();
  std::vector<Rule> before = rules_;
  std::erase_if(
      rules_, [](const Rule& rule) { return rule.selector.process && life_of(*rule.selector.process) == Life::kGone; });
  for (std::string& pattern : *patterns) {
    std::erase_if(rules_, [&](const Rule& rule) {
      return rule.selector == selector && without_sign(rule.pattern) == without_sign(pattern);
    });
    rules_.push_back({selector, std::move(pattern)});
  }
  // All of them together, because one process may be covered by all.
  if (bytes() <= pool::kMostPatternBytes) return {};
  rules_ = std::move(before);
  return invalid("more patterns than programs remember: " + std::to_string(pool::kMostPatternBytes) +
                 " bytes; fewer and shorter ones do");
}

std::string TracepointRules::patterns_of(const ProcessId& process, std::string_view service) const {
  std::string patterns;
  for (const Rule& rule : rules_) {
    if (!rule.selector.covers(process, service)) continue;
    patterns.append(patterns.empty() ? "" : ",").append(rule.pattern);
  }
  return patterns;
}

}  // namespace fathom::agent
