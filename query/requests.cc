#include "query/requests.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "query/request_traits.h"
#include "query/span_traits.h"

namespace fathom::query {

namespace {

constexpr uint64_t kLargestRequestBytes = 64 << 20;  // decoded

const store::StoredSpan& root_of(const store::StoredTrace& trace) {
  auto is_root = [](const store::StoredSpan& stored) { return stored.span.parent_span_id.is_zero(); };
  auto found = std::find_if(trace.spans.begin(), trace.spans.end(), is_root);
  return found == trace.spans.end() ? trace.spans.front() : *found;
}

const store::StoredSpan& span_of(const store::StoredTrace& trace, const SpanId& id) {
  auto is_it = [&](const store::StoredSpan& stored) { return stored.span.span_id == id; };
  auto found = std::find_if(trace.spans.begin(), trace.spans.end(), is_it);
  return found == trace.spans.end() ? root_of(trace) : *found;
}

}  // namespace

void Requests::pick(const store::StoredSpan& stored) {
  if (seen_.insert(stored.span.trace_id).second) picked_.push_back({stored.span.trace_id, stored.span.span_id});
}

Result<> Requests::tally(bool is_selected, TraitTally& tally) {
  for (const Picked& one : std::exchange(picked_, {})) {
    auto trace = read(one.trace_id);
    if (!trace) return trace.error();
    if (!*trace || (*trace)->spans.empty()) continue;
    const store::StoredSpan& own = by_root_ ? root_of(**trace) : span_of(**trace, one.span_id);
    if (is_selected) count_kind(own);
    tally.begin(is_selected, like_of(own), one.trace_id);
    tally_request(**trace, own.span.span_id, tally);
    if (auto held = tally_memory_.grow(tally.memory_bytes() - tally_memory_.bytes()); !held) return held;
  }
  return {};
}

std::vector<Kind> Requests::kinds() const {
  std::vector<Kind> all;
  for (const auto& [like, kind] : kinds_) all.push_back(kind);
  std::sort(all.begin(), all.end(), [](const Kind& a, const Kind& b) {
    return std::tie(b.selected, a.service, a.operation) < std::tie(a.selected, b.service, b.operation);
  });
  return all;
}

void Requests::count_kind(const store::StoredSpan& own) {
  auto [kind, is_new] = kinds_.try_emplace(like_of(own));
  if (is_new) kind->second = {std::string(own.service), std::string(own.operation)};
  ++kind->second.selected;
}

Result<std::optional<store::StoredTrace>> Requests::read(const TraceId& id) {
  store::QueryBudget own(UINT64_MAX, std::min(kLargestRequestBytes, budget_.left_bytes()));
  auto trace = store_.trace(id, own);
  memory_ = budget_.hold();
  if (auto held = memory_.grow(own.most_bytes() - std::min(own.most_bytes(), own.spent_bytes())); !held) {
    return held.error();
  }
  if (auto spent = budget_.spend(own.spent_bytes()); !spent) return spent.error();
  if (trace && trace->oversized) return std::optional<store::StoredTrace>();  // a page is not the request
  if (trace) return std::optional(*std::move(trace));
  bool is_left_out = trace.error().code == ErrorCode::kExhausted || trace.error().code == ErrorCode::kNotFound;
  return is_left_out ? Result<std::optional<store::StoredTrace>>(std::nullopt) : trace.error();
}

}  // namespace fathom::query
