#include "query/differences.h"

#include <algorithm>

#include "net/json_writer.h"
#include "query/requests.h"
#include "query/span_traits.h"
#include "query/trait_tally.h"

namespace fathom::query {

namespace {

using net::JsonWriter;
using store::SampleCount;

// As many as it takes to show enough of few; a count of many does not need more.
constexpr store::SampleLimits kSelectedLimits{.shown = 2000, .scanned = 1'000'000, .counted = 100'000, .blocks = 96};
constexpr store::SampleLimits kViewLimits{.shown = 3000, .scanned = 200'000, .counted = 100'000, .blocks = 40};

// A request takes some ten times of what a span does.
constexpr uint64_t kSelectedRequests = 200;
constexpr uint64_t kOtherRequests = 300;
constexpr size_t kMostKinds = 4;
constexpr uint64_t kFewestOfKind = 50;

store::Filter view_filter(const DifferencesQuery& query) {
  store::Filter view = query.selected;
  view.min_duration_nano = 0;
  view.max_duration_nano = UINT64_MAX;
  view.range.from_unix_nano = std::min(query.view.from_unix_nano, query.selected.range.from_unix_nano);
  view.range.to_unix_nano = std::max(query.view.to_unix_nano, query.selected.range.to_unix_nano);
  return view;
}

bool is_selected(const store::Filter& selected, const store::StoredSpan& stored) {
  uint64_t duration = stored.span.duration_nano();
  return selected.range.contains(corrected_unix_nano(stored.span.start_unix_nano, stored.clock)) &&
         duration >= selected.min_duration_nano && duration <= selected.max_duration_nano;
}

void write_side(JsonWriter& json, const SampleCount& count) {
  json.begin_object().member("spans", count.spans).member("looked_at", count.shown);
  json.member("estimated", count.estimated).end_object();
}

void members_of(JsonWriter& json, const Trait& trait) {
  json.member("of", trait_of_name(trait.of)).member("service", std::string_view(trait.service));
  json.member("operation", std::string_view(trait.operation)).member("key", std::string_view(trait.key));
  json.member("is", trait_is_name(trait.is)).member("value", std::string_view(trait.value));
}

void write_difference(JsonWriter& json, const Difference& difference) {
  const auto& [selected, rest, surprise] = difference.shares;
  members_of(json.begin_object(), difference.trait);
  json.member("selected", difference.sides.selected).member("rest", difference.sides.others);
  json.key("selected_share").real(selected).key("rest_share").real(rest).key("lift");
  rest > 0 ? json.real(selected / rest) : json.null();
  json.key("also").begin_array();
  for (const Trait& trait : difference.also) {
    members_of(json.begin_object(), trait);
    json.end_object();
  }
  json.end_array();
  if (difference.trait.is == TraitIs::kOneOf) {
    json.key("values").begin_array();
    for (const std::string& value : difference.values) json.string(value);
    json.end_array();
  }
  json.end_object();
}

store::SampleLimits limited(store::SampleLimits limits, uint64_t shown) {
  limits.shown = shown;
  return limits;
}

DifferencesAnswer answer_of(const DifferencesQuery& query, const TraitTally& tally, const SampleCount& selected,
                            const SampleCount& view) {
  DifferencesAnswer answer{.selected = selected, .rest = view, .differences = tally.differences(query.limit)};
  answer.selected.shown = tally.totals().selected;
  answer.rest.shown = tally.totals().others;
  answer.rest.spans = std::max(answer.rest.shown, view.spans - std::min(view.spans, selected.spans));
  answer.rest.estimated = view.estimated || selected.estimated;
  return answer;
}

Result<DifferencesAnswer> of_spans(store::SpanStore& store, const DifferencesQuery& query, store::QueryBudget& budget) {
  TraitTally tally;
  store::HeldMemory memory = budget.hold();
  Result<> paid;
  auto add = [&](bool is_selected, const store::StoredSpan& stored) {
    if (!paid) return;
    tally.begin(is_selected, like_of(stored), stored.span.trace_id);
    tally_span(stored, tally);
    paid = memory.grow(tally.memory_bytes() - memory.bytes());
  };
  auto selected = store.sample(
      query.selected, kSelectedLimits, [&](const store::StoredSpan& stored) { add(true, stored); }, budget);
  if (!selected) return selected.error();
  auto others = [&](const store::StoredSpan& stored) {
    if (!is_selected(query.selected, stored)) add(false, stored);
  };
  auto view = store.sample(view_filter(query), kViewLimits, others, budget);
  if (!view || !paid) return view ? paid.error() : view.error();
  return answer_of(query, tally, *selected, *view);
}

// Others of the kinds that the selected ones are of, in about the same mixture: of all kinds there would be few alike.
Result<> pick_others(store::SpanStore& store, const DifferencesQuery& query, Requests& requests,
                     store::QueryBudget& budget) {
  auto others = [&](const store::StoredSpan& stored) {
    if (!is_selected(query.selected, stored)) requests.pick(stored);
  };
  std::vector<Kind> kinds = requests.kinds();
  if (kinds.size() > kMostKinds) kinds.resize(kMostKinds);
  uint64_t all = 0;
  for (const Kind& kind : kinds) all += kind.selected;
  for (const Kind& kind : kinds) {
    store::Filter filter = view_filter(query);
    filter.service = kind.service;
    filter.operation = kind.operation;
    uint64_t wanted = std::max(kFewestOfKind, kOtherRequests * kind.selected / all);
    auto sampled = store.sample(filter, limited(kViewLimits, wanted), others, budget);
    if (!sampled) return sampled.error();
  }
  return {};
}

Result<DifferencesAnswer> of_requests(store::SpanStore& store, const DifferencesQuery& query,
                                      store::QueryBudget& budget) {
  TraitTally tally;
  Requests requests(store, !query.selected.has_span_conditions(), budget);
  auto selected = store.sample(
      query.selected, limited(kSelectedLimits, kSelectedRequests),
      [&](const store::StoredSpan& stored) { requests.pick(stored); }, budget);
  if (!selected) return selected.error();
  if (auto done = requests.tally(true, tally); !done) return done.error();
  auto view = store.sample(
      view_filter(query), limited(kViewLimits, 0), [](const store::StoredSpan&) {}, budget);
  if (!view) return view.error();
  if (auto picked = pick_others(store, query, requests, budget); !picked) return picked.error();
  if (auto done = requests.tally(false, tally); !done) return done.error();
  return answer_of(query, tally, *selected, *view);
}

}  // namespace

Result<DifferencesAnswer> run_differences(store::SpanStore& store, const DifferencesQuery& query,
                                          store::QueryBudget& budget) {
  return query.requests ? of_requests(store, query, budget) : of_spans(store, query, budget);
}

std::string to_json(const DifferencesAnswer& answer) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  write_side(json.key("selected"), answer.selected);
  write_side(json.key("rest"), answer.rest);
  json.key("differences").begin_array();
  for (const Difference& difference : answer.differences) write_difference(json, difference);
  json.end_array().end_object();
  return out += "\n";
}

}  // namespace fathom::query
