#include "query/differences.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "net/json_writer.h"
#include "query/request_traits.h"
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
constexpr uint64_t kLargestRequestBytes = 4 << 20;  // larger ones are not looked at

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

// What a request is an example of: that of its root, or where spans are asked for by what they say, of the one found.
struct Kind {
  std::string service;
  std::string operation;
  uint64_t selected = 0;
};

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

class Requests {
 public:
  Requests(store::SpanStore& store, bool by_root, store::QueryBudget& budget)
      : store_(store), by_root_(by_root), budget_(budget) {}

  // Each trace once, and on the side that it came to first.
  void pick(const store::StoredSpan& stored) {
    if (seen_.insert(stored.span.trace_id).second) picked_.push_back({stored.span.trace_id, stored.span.span_id});
  }

  Result<> tally(bool is_selected, TraitTally& tally) {
    for (const Picked& one : std::exchange(picked_, {})) {
      auto trace = read(one.trace_id);
      if (!trace) return trace.error();
      if (!*trace || (*trace)->spans.empty()) continue;
      const store::StoredSpan& own = by_root_ ? root_of(**trace) : span_of(**trace, one.span_id);
      if (is_selected) count_kind(own);
      tally.begin(is_selected, like_of(own), one.trace_id);
      tally_request(**trace, own.span.span_id, tally);
    }
    return {};
  }

  // Of the selected ones, the most frequent first.
  std::vector<Kind> kinds() const {
    std::vector<Kind> all;
    for (const auto& [like, kind] : kinds_) all.push_back(kind);
    std::sort(all.begin(), all.end(), [](const Kind& a, const Kind& b) {
      return std::tie(b.selected, a.service, a.operation) < std::tie(a.selected, b.service, b.operation);
    });
    return all;
  }

 private:
  struct Picked {
    TraceId trace_id;
    SpanId span_id;
  };

  void count_kind(const store::StoredSpan& own) {
    auto [kind, is_new] = kinds_.try_emplace(like_of(own));
    if (is_new) kind->second = {std::string(own.service), std::string(own.operation)};
    ++kind->second.selected;
  }

  // Nothing where it is too large, or gone meanwhile.
  Result<std::optional<store::StoredTrace>> read(const TraceId& id) {
    store::QueryBudget own(UINT64_MAX, std::min(kLargestRequestBytes, budget_.left_bytes()));
    auto trace = store_.trace(id, own);
    if (auto spent = budget_.spend(own.spent_bytes()); !spent) return spent.error();
    if (trace) return std::optional(*std::move(trace));
    bool is_left_out = trace.error().code == ErrorCode::kExhausted || trace.error().code == ErrorCode::kNotFound;
    return is_left_out ? Result<std::optional<store::StoredTrace>>(std::nullopt) : trace.error();
  }

  store::SpanStore& store_;
  const bool by_root_;
  store::QueryBudget& budget_;
  std::set<TraceId> seen_;
  std::vector<Picked> picked_;
  std::map<std::string, Kind> kinds_;
};

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
  auto add = [&](bool is_selected, const store::StoredSpan& stored) {
    tally.begin(is_selected, like_of(stored), stored.span.trace_id);
    tally_span(stored, tally);
  };
  auto selected = store.sample(
      query.selected, kSelectedLimits, [&](const store::StoredSpan& stored) { add(true, stored); }, budget);
  if (!selected) return selected.error();
  auto others = [&](const store::StoredSpan& stored) {
    if (!is_selected(query.selected, stored)) add(false, stored);
  };
  auto view = store.sample(view_filter(query), kViewLimits, others, budget);
  if (!view) return view.error();
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
