#include "query/differences.h"

#include <algorithm>
#include <cmath>

#include "net/json_writer.h"
#include "query/trait_tally.h"

namespace fathom::query {

namespace {

using net::JsonWriter;
using store::SampleCount;

constexpr store::SampleLimits kSelectedLimits{.shown = 2000, .scanned = 1'000'000, .blocks = 96};
constexpr store::SampleLimits kViewLimits{.shown = 3000, .scanned = 200'000, .blocks = 40};

// One of the two terms of G^2, which is 0 where nothing was counted.
double term(double count, double expected) {
  return count > 0 ? count * std::log(count / expected) : 0;
}

double share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

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
  json.member("of", trait_of_name(trait.of)).member("key", std::string_view(trait.key));
  json.member("value", std::string_view(trait.value));
}

void write_difference(JsonWriter& json, const Difference& difference, const DifferencesAnswer& answer) {
  double selected = share(difference.selected, answer.selected.shown);
  double rest = share(difference.rest, answer.rest.shown);
  members_of(json.begin_object(), difference.trait);
  json.member("selected", difference.selected).member("rest", difference.rest);
  json.key("selected_share").real(selected).key("rest_share").real(rest).key("lift");
  difference.rest > 0 ? json.real(selected / rest) : json.null();
  json.key("also").begin_array();
  for (const Trait& trait : difference.also) {
    members_of(json.begin_object(), trait);
    json.end_object();
  }
  json.end_array().end_object();
}

}  // namespace

std::string_view trait_of_name(TraitOf of) {
  switch (of) {
    case TraitOf::kOperation:
      return "operation";
    case TraitOf::kService:
      return "service";
    case TraitOf::kStatus:
      return "status";
    case TraitOf::kAttribute:
      return "attribute";
    case TraitOf::kResource:
      return "resource";
  }
  return "";
}

double surprise(uint64_t a, uint64_t a_total, uint64_t b, uint64_t b_total) {
  if (a_total == 0 || b_total == 0) return 0;
  auto total = static_cast<double>(a_total) + static_cast<double>(b_total);
  double have = (static_cast<double>(a) + static_cast<double>(b)) / total;
  auto of = [](uint64_t count, uint64_t whole, double expected_share) {
    auto have = static_cast<double>(count), all = static_cast<double>(whole);
    return term(have, all * expected_share) + term(all - have, all * (1 - expected_share));
  };
  double measure = 2 * (of(a, a_total, have) + of(b, b_total, have));
  return share(a, a_total) > share(b, b_total) ? measure : -measure;
}

Result<DifferencesAnswer> run_differences(store::SpanStore& store, const DifferencesQuery& query,
                                          store::QueryBudget& budget) {
  TraitTally tally;
  auto selected = store.sample(
      query.selected, kSelectedLimits, [&](const store::StoredSpan& stored) { tally.add_selected(stored); }, budget);
  if (!selected) return selected.error();
  auto others = [&](const store::StoredSpan& stored) {
    if (!is_selected(query.selected, stored)) tally.add_other(stored);
  };
  auto view = store.sample(view_filter(query), kViewLimits, others, budget);
  if (!view) return view.error();
  DifferencesAnswer answer{.selected = *selected, .rest = *view, .differences = tally.differences(query.limit)};
  answer.rest.shown = tally.others();
  answer.rest.spans = std::max(answer.rest.shown, view->spans - std::min(view->spans, selected->spans));
  answer.rest.estimated = view->estimated || selected->estimated;
  return answer;
}

std::string to_json(const DifferencesAnswer& answer) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  write_side(json.key("selected"), answer.selected);
  write_side(json.key("rest"), answer.rest);
  json.key("differences").begin_array();
  for (const Difference& difference : answer.differences) write_difference(json, difference, answer);
  json.end_array().end_object();
  return out += "\n";
}

}  // namespace fathom::query
