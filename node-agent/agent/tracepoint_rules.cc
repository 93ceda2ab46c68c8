#include "node-agent/agent/tracepoint_rules.h"

#include <algorithm>

#include "base/log.h"
#include "base/name_pattern.h"
#include "client/pool/layout.h"
#include "ingest/limits.h"

namespace fathom::agent {

namespace {

static_assert(ingest::kMostRulesBytes <= pool::kMostPatternBytes, "the collector's rules alone have room");

std::string_view without_sign(std::string_view pattern) {
  return pattern.substr(pattern.starts_with('-') ? 1 : 0);
}

Result<std::vector<std::string>> split(std::string_view list) {
  std::vector<std::string> patterns;
  while (!list.empty()) {
    size_t end = std::min(list.find(','), list.size());
    std::string_view pattern = list.substr(0, end);
    if (!is_name_pattern(without_sign(pattern)))
      return invalid("not a pattern for tracepoints: '" + std::string(pattern) + "'");
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

bool TracepointSelector::covers(const TracepointSelector& other) const {
  return *this == other || (!process && service.empty());
}

bool TracepointRules::Rule::covers(const Rule& older) const {
  return origin == older.origin && selector.covers(older.selector) &&
         covers_pattern(without_sign(pattern), without_sign(older.pattern));
}

bool TracepointRules::Rule::operator==(const Rule& other) const {
  return origin == other.origin && selector == other.selector && pattern == other.pattern;
}

size_t TracepointRules::bytes() const {
  size_t sum = 0;
  for (const Rule& rule : rules_) sum += rule.pattern.size() + 1;
  return sum;
}

void TracepointRules::push(Rule rule) {
  std::erase_if(rules_, [&](const Rule& older) { return rule.covers(older); });
  rules_.push_back(std::move(rule));
}

Result<> TracepointRules::add(const TracepointSelector& selector, std::string_view list, RuleOrigin origin) {
  Result<std::vector<std::string>> patterns = split(list);
  if (!patterns) return patterns.error();
  std::vector<Rule> before = rules_;
  std::erase_if(
      rules_, [](const Rule& rule) { return rule.selector.process && life_of(*rule.selector.process) == Life::kGone; });
  for (std::string& pattern : *patterns) push({selector, std::move(pattern), origin});
  // All of them together, because one process may be covered by all.
  if (bytes() <= pool::kMostPatternBytes) return {};
  rules_ = std::move(before);
  return invalid("more patterns than programs remember: " + std::to_string(pool::kMostPatternBytes) +
                 " bytes; fewer and shorter ones do");
}

// How many of the collector's that stand here are the first ones of these.
size_t TracepointRules::known_of(const std::vector<Rule>& fleets) const {
  size_t known = 0;
  for (const Rule& rule : rules_) {
    if (rule.origin != RuleOrigin::kFleet) continue;
    if (known == fleets.size() || !(rule == fleets[known])) break;
    ++known;
  }
  return known;
}

void TracepointRules::keep_fleets(size_t count) {
  std::erase_if(rules_, [&](const Rule& rule) {
    if (rule.origin != RuleOrigin::kFleet) return false;
    if (count == 0) return true;
    --count;
    return false;
  });
}

void TracepointRules::make_room() {
  while (bytes() > pool::kMostPatternBytes) {
    auto oldest =
        std::find_if(rules_.begin(), rules_.end(), [](const Rule& rule) { return rule.origin == RuleOrigin::kHere; });
    log_warning("no room beside the server's rules for tracepoints: " + oldest->pattern + " is forgotten");
    rules_.erase(oldest);
  }
}

Result<> TracepointRules::replace_fleets(const std::vector<TracepointRule>& rules) {
  TracepointRules fresh;
  for (const TracepointRule& rule : rules) {
    if (!is_name_pattern(rule.pattern)) return invalid("not a pattern for tracepoints: '" + rule.pattern + "'");
    Result<> added = fresh.add({.service = rule.service}, (rule.enables ? "" : "-") + rule.pattern, RuleOrigin::kFleet);
    if (!added) return added;
  }
  size_t known = known_of(fresh.rules_);
  keep_fleets(known);
  for (size_t i = known; i < fresh.rules_.size(); ++i) push(fresh.rules_[i]);
  make_room();
  return {};
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
