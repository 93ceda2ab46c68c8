#include "query/trace_name.h"

#include <algorithm>
#include <optional>

namespace fathom::query {

namespace {

constexpr size_t kAllDigits = 2 * sizeof(TraceId);
constexpr size_t kMostCandidates = 10;

std::optional<TraceId> filled_up(std::string_view begin, char digit) {
  std::string text(begin);
  text.resize(kAllDigits, digit);
  return TraceId::from_hex_text(text);
}

Error ambiguous(const TraceName& name, const std::vector<TraceId>& ids) {
  std::string text = "'" + name.text + "' begins the ids of several traces; write more of it:";
  for (size_t i = 0; i < std::min(ids.size(), kMostCandidates); ++i) text += (i == 0 ? " " : ", ") + ids[i].hex();
  return invalid(text + (ids.size() > kMostCandidates ? ", ..." : ""));
}

}  // namespace

Result<TraceName> trace_name(std::string_view text) {
  const auto first = text.size() <= kAllDigits ? filled_up(text, '0') : std::nullopt;
  const auto last = first ? filled_up(text, 'f') : std::nullopt;
  if (text.size() < kLeastTraceDigits || !last || last->is_zero()) {
    return invalid("a trace id is 32 hexadecimal digits, not all of them zero; the first " +
                   std::to_string(kLeastTraceDigits) + " of them, or more, will do");
  }
  return TraceName{std::string(text), {*first, *last}};
}

Result<TraceId> resolve(const Stores& stores, const TraceName& name, store::QueryBudget& budget) {
  if (name.range.first == name.range.last) return name.range.first;
  auto ids = stores.spans.trace_ids(name.range, kMostCandidates + 1, budget);
  if (!ids) return ids.error();
  if (ids->size() > 1) return ambiguous(name, *ids);
  if (ids->empty()) return not_found("no span of a trace whose id begins with " + name.text + " is stored");
  return ids->front();
}

}  // namespace fathom::query
