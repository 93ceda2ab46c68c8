#include "query/counters.h"

#include <array>
#include <string>

#include "base/metrics.h"
#include "base/result.h"

namespace fathom::query {

namespace {

struct Step {
  uint64_t nano;
  const char* label;
};
constexpr std::array<Step, 10> kSteps{{{1'000'000, "0.001"},
                                       {5'000'000, "0.005"},
                                       {10'000'000, "0.01"},
                                       {20'000'000, "0.02"},
                                       {50'000'000, "0.05"},
                                       {100'000'000, "0.1"},
                                       {500'000'000, "0.5"},
                                       {1'000'000'000, "1"},
                                       {10'000'000'000, "10"},
                                       {UINT64_MAX, "+Inf"}}};

constexpr std::array kQueries{"slowest",          "trace",  "services", "operations", "attribute_keys",
                              "attribute_values", "latency"};
constexpr std::array kReasons{"queue_full", "stopping", "invalid", "not_found", "exhausted"};
constexpr std::array kFaults{ErrorCode::kInvalid,   ErrorCode::kNotFound,    ErrorCode::kUnavailable,
                             ErrorCode::kExhausted, ErrorCode::kDeadline,    ErrorCode::kCancelled,
                             ErrorCode::kCorrupt,   ErrorCode::kUnsupported, ErrorCode::kInternal};

Counter& refused(std::string_view reason) {
  return counter("fathom_query_refused_total", "Queries that were refused before they ran.", label("reason", reason));
}
Counter& requests(std::string_view query, std::string_view result) {
  return counter("fathom_query_requests_total", "Queries, by kind and result.",
                 label("query", query) + "," + label("result", result));
}
Counter& bucket(std::string_view query, const Step& step) {
  return counter("fathom_query_duration_seconds_bucket", "Queries that took at most `le` seconds.",
                 label("query", query) + "," + label("le", step.label));
}
Counter& durations(std::string_view query) {
  return counter("fathom_query_duration_seconds_count", "Queries whose duration was taken.", label("query", query));
}

}  // namespace

void register_counters() {
  for (const char* reason : kReasons) refused(reason);
  for (const char* query : kQueries) {
    requests(query, "ok");
    for (ErrorCode fault : kFaults) requests(query, error_code_name(fault));
    for (const Step& step : kSteps) bucket(query, step);
    durations(query);
  }
}

void count_refused(std::string_view reason) {
  refused(reason).add();
}

// A histogram as Prometheus reads one, made of counters.
void count_finished(std::string_view query, std::string_view result, uint64_t took_nano) {
  requests(query, result).add();
  for (const Step& step : kSteps) {
    if (took_nano <= step.nano) bucket(query, step).add();
  }
  durations(query).add();
}

}  // namespace fathom::query
