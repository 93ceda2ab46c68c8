#include "collector/control/tracepoint_rules.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/name_pattern.h"
#include "base/utf8.h"
#include "ingest/limits.h"

namespace fathom::collector {

namespace {

bool covers(const TracepointRule& rule, const TracepointRule& older) {
  return (rule.service.empty() || rule.service == older.service) && (!rule.node_id || rule.node_id == older.node_id) &&
         covers_pattern(rule.pattern, older.pattern);
}

bool are_too_many(const std::vector<TracepointRule>& rules) {
  size_t bytes = 0;
  for (const TracepointRule& rule : rules) bytes += ingest::bytes_of_rule(rule.pattern);
  return rules.size() > ingest::kMostRules || bytes > ingest::kMostRulesBytes;
}

}  // namespace

bool TracepointRules::are_made_by(const TracepointRequest& request) {
  return request.action != TracepointAction::kList && request.pid == 0;
}

Result<> TracepointRules::add(const TracepointRequest& request) {
  TracepointRules more = *this;
  for (const std::string& pattern : request.patterns) {
    Result<> added = more.add({request.action == TracepointAction::kEnable, pattern, request.service, request.node_id});
    if (!added) return added;
  }
  *this = std::move(more);
  return {};
}

Result<> TracepointRules::add(TracepointRule rule) {
  if (!is_name_pattern(rule.pattern) || !is_utf8(rule.pattern + rule.service))
    return invalid("not a pattern for tracepoints: '" + rule.pattern + "'");
  std::vector<TracepointRule> more = rules_;
  std::erase_if(more, [&](const TracepointRule& older) { return covers(rule, older); });
  more.push_back(std::move(rule));
  if (are_too_many(more)) {
    return invalid(
        "more rules for tracepoints than agents take; 'fathom tracepoints rules' lists them, and one that "
        "covers others takes their place");
  }
  rules_ = std::move(more);
  return {};
}

std::vector<TracepointRule> TracepointRules::of(const NodeId& node) const {
  std::vector<TracepointRule> rules;
  std::copy_if(rules_.begin(), rules_.end(), std::back_inserter(rules),
               [&](const TracepointRule& rule) { return !rule.node_id || rule.node_id == node; });
  return rules;
}

}  // namespace fathom::collector
