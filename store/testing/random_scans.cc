#include "store/testing/random_scans.h"

#include <algorithm>
#include <set>
#include <vector>

#include "store/model/span_text.h"
#include "store/testing/random_answers.h"

namespace fathom::store::testing {

namespace {

using Lines = std::multiset<std::string>;

constexpr SampleLimits kAll{.shown = 1'000'000, .scanned = UINT64_MAX, .counted = UINT64_MAX, .blocks = UINT32_MAX};

std::string lines_text(const Lines& lines, bool unique) {
  std::string out = unique ? std::to_string(lines.size()) + " shown\n" : "";
  for (auto at = lines.begin(); at != lines.end(); at = unique ? std::next(at) : lines.upper_bound(*at)) {
    out += *at + "\n";
  }
  return out;
}

void add_times(const TimesView& view, Lines& lines) {
  for (size_t i = 0; i < view.error.size(); ++i) {
    lines.insert("start=" + std::to_string(view.start_unix_nano[i]) +
                 " duration=" + std::to_string(view.duration_nano[i]) + (view.error[i] != 0 ? " error" : ""));
  }
}

// Without the flag that equal ids have other content: samples do not look for it.
std::string span_text(const StoredSpan& stored) {
  return content_text(stored) + " of " + std::string(stored.service_namespace) + "/" + std::string(stored.service) +
         "/" + std::string(stored.operation);
}

Result<SampleCount> sample(SpanStore& store, const Filter& filter, const SampleLimits& limits, Lines& lines) {
  QueryBudget budget;
  return store.sample(
      filter, limits, [&](const StoredSpan& stored) { lines.insert(span_text(stored)); }, budget);
}

// What is wrong with a sample of `all`; empty where nothing is.
std::string fault_of(const Lines& some, const SampleCount& count, const SampleLimits& limits, const Lines& all,
                     bool unique) {
  if (count.shown != some.size())
    return "shows " + std::to_string(some.size()) + " and counts " + std::to_string(count.shown) + "\n";
  if (count.shown > limits.shown) return "shows more than it may\n";
  if (!std::ranges::includes(all, some)) return "shows what does not match\n";
  // Rows that are alike may become one between two questions.
  if (unique && !count.estimated && count.spans != all.size()) return "counts otherwise when it shows less\n";
  return "";
}

}  // namespace

std::string times_text(SpanStore& store, const Filter& filter, bool unique) {
  QueryBudget budget;
  Lines lines;
  // First: what is there may become less meanwhile, as rows that are alike become one.
  Result<uint64_t> most = store.spans_at_most(filter.range, budget);
  if (!most) return error_text(most.error());
  Result<> visited = store.visit_times(
      filter, [&](const TimesView& view) { add_times(view, lines); }, budget);
  if (!visited) return error_text(visited.error());
  return lines_text(lines, unique) + (*most < lines.size() ? "more than there are at most\n" : "");
}

std::string sample_text(SpanStore& store, const Filter& filter, const SampleLimits& limits, bool unique) {
  Lines all, some;
  Result<SampleCount> count = sample(store, filter, kAll, all);
  if (!count) return error_text(count.error());
  Result<SampleCount> less = sample(store, filter, limits, some);
  if (!less) return error_text(less.error());
  return lines_text(all, unique) + fault_of(all, *count, kAll, all, unique) +
         fault_of(some, *less, limits, all, unique) + (count->estimated ? "estimated\n" : "");
}

std::string calls_text(SpanStore& store, const TimeRange& range, bool unique) {
  QueryBudget budget;
  Result<CallSample> sample = store.calls(range, UINT64_MAX, budget);
  if (!sample) return error_text(sample.error());
  if (!unique) return "calls\n";
  std::string out = std::to_string(sample->spans_looked_at) + " of " + std::to_string(sample->spans) + " spans, " +
                    std::to_string(sample->traces_looked_at) + " of " + std::to_string(sample->traces) + " traces, " +
                    std::to_string(sample->failed_unplaced) + " unplaced\n";
  for (const CallEdge& edge : sample->edges) {
    const auto name = [](const ServiceKey& key) { return key.service_namespace + "/" + key.service; };
    out += name(edge.caller) + " > " + name(edge.callee) + " calls=" + std::to_string(edge.calls) +
           " errors=" + std::to_string(edge.errors) + " " + histogram_text(edge.durations);
  }
  return out;
}

}  // namespace fathom::store::testing
