#include "query/request_traits.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "query/span_traits.h"

namespace fathom::query {

namespace {

using store::StoredSpan;
using store::StoredTrace;

struct Interval {
  size_t parent = 0;
  uint64_t from = 0;
  uint64_t to = 0;
};

Interval interval_of(const StoredSpan& stored) {
  uint64_t from = corrected_start_unix_nano(stored);
  return {0, from, from + std::min(stored.span.duration_nano(), UINT64_MAX - from)};
}

// Of each span that has its parent here, what it covers of it; by parent, then begin.
std::vector<Interval> covered(const StoredTrace& trace) {
  std::unordered_map<std::string_view, size_t> places;
  for (size_t i = 0; i < trace.spans.size(); ++i) places.emplace(trace.spans[i].span.span_id.view(), i);
  std::vector<Interval> all;
  for (const StoredSpan& stored : trace.spans) {
    auto parent = places.find(stored.span.parent_span_id.view());
    if (parent == places.end()) continue;
    Interval whole = interval_of(trace.spans[parent->second]), own = interval_of(stored);
    Interval part{parent->second, std::max(own.from, whole.from), std::min(own.to, whole.to)};
    if (part.from < part.to) all.push_back(part);
  }
  std::sort(all.begin(), all.end(), [](const Interval& a, const Interval& b) {
    return std::tie(a.parent, a.from) < std::tie(b.parent, b.from);
  });
  return all;
}

struct Operation {
  const StoredSpan* first = nullptr;
  uint64_t calls = 0;
  uint64_t self_nano = 0;
  bool failed = false;
};

using Operations = std::unordered_map<std::string, Operation>;

Operations operations_of(const StoredTrace& trace) {
  Operations all;
  std::vector<uint64_t> self_nano = self_times(trace);
  for (size_t i = 0; i < trace.spans.size(); ++i) {
    const StoredSpan& stored = trace.spans[i];
    Operation& operation = all[like_of(stored)];
    if (operation.first == nullptr) operation.first = &stored;
    ++operation.calls;
    operation.self_nano += self_nano[i];
    operation.failed = operation.failed || stored.span.status == store::StatusCode::kError;
  }
  return all;
}

void tally_operation(const Operation& operation, TraitTally& tally) {
  TraitView trait{.service = operation.first->service, .operation = operation.first->operation};
  auto of = [&](TraitOf what) {
    trait.of = what;
    return trait;
  };
  tally.have_number(of(TraitOf::kCalls), static_cast<double>(operation.calls), true);
  tally.have_number(of(TraitOf::kSelfTime), static_cast<double>(operation.self_nano), true);
  if (operation.failed) tally.have(of(TraitOf::kError));
}

}  // namespace

std::vector<uint64_t> self_times(const StoredTrace& trace) {
  std::vector<uint64_t> self;
  for (const StoredSpan& stored : trace.spans) self.push_back(stored.span.duration_nano());
  size_t parent = SIZE_MAX;
  uint64_t covered_to = 0;
  for (const Interval& part : covered(trace)) {
    if (part.parent != parent) covered_to = 0;
    parent = part.parent;
    uint64_t from = std::max(part.from, covered_to);
    if (part.to > from) self[parent] -= std::min(self[parent], part.to - from);
    covered_to = std::max(covered_to, part.to);
  }
  return self;
}

void tally_request(const StoredTrace& trace, const SpanId& own, TraitTally& tally) {
  auto is_own = [&](const StoredSpan& stored) { return stored.span.span_id == own; };
  auto found = std::find_if(trace.spans.begin(), trace.spans.end(), is_own);
  std::string_view own_service = found == trace.spans.end() ? std::string_view() : found->service;
  for (const auto& [name, operation] : operations_of(trace)) tally_operation(operation, tally);
  for (const StoredSpan& stored : trace.spans) {
    if (is_own(stored)) continue;
    tally_attributes(TraitOf::kAttribute, stored.service, stored.span.attributes, tally);
    if (stored.service == own_service) continue;
    tally_attributes(TraitOf::kResource, stored.service, stored.resource.attributes, tally);
  }
}

}  // namespace fathom::query
