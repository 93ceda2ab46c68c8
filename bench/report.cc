#include "bench/report.h"

#include <grpcpp/version_info.h>

#include <boost/json.hpp>
#include <boost/version.hpp>
#include <cstdio>
#include <fstream>

namespace fathom::bench {

namespace {

struct KeyBound {
  std::string_view key;
  Bound bound;
};

constexpr KeyBound kBounds[] = {
    {"ingest.otlp_grpc_spans_per_s_per_core", {100'000, true}},
    {"ingest.ack_ms_p99", {100, false}},
    {"ingest.rss_max_mib", {512, false}},
    {"store.bytes_per_span", {60, false}},
    {"store.bytes_per_span_single", {120, false}},
    {"query.slowest_hour_ms_p99", {10, false}},
    {"query.slowest_day_ms_p99", {20, false}},
    {"query.slowest_where_ms_p99", {100, false}},
    {"query.slowest_page_50_ms_p99", {50, false}},
    {"query.trace_by_id_ms_p99", {5, false}},
    {"e2e.acknowledged_to_found_ms_p99", {200, false}},
    {"trust.fair_query_ms_p99", {50, false}},
    {"span.start_end_2attr_ns", {40, false}},
    {"span.over_otel_cpp", {0.1, false}},
    {"span.two_threads_over_one", {1.05, false}},
    {"tracepoint.over_floor", {1.10, false}},
    {"tracepoint.without_clock_ns", {4, false}},
    {"tracepoint.over_lttng_ust", {0.14, false}},
    {"tracepoint.two_threads_over_one", {1.05, false}},
    {"tracepoint.chunk_switch_ns", {500, false}},
    {"tracepoint.disabled_ns", {0.3, false}},
    {"syscall.added_over_perf_trace", {0.5, false}},
    {"agent.spans_per_s_per_core", {1'000'000, true}},
    {"agent.rss_max_mib", {128, false}},
    {"e2e.span_to_found_ms_p99", {500, false}},
    {"crash.spans_lost", {0, false}},
    {"capture.to_durable_ms_p99", {100, false}},
    {"capture.overdue_seen_ms_p99", {5, false}},
    {"crash.events_lost", {0, false}},
    {"stepper.mismatches", {0, false}},
    {"stepper.over_bare_loop", {0.8, true}},
    {"decode.loop_insn_per_s", {150'000'000, true}},
    {"decode.calls_insn_per_s", {35'000'000, true}},
    {"decode.two_cores_over_one", {1.8, true}},
    {"import.to_calls_ms", {1000, false}},
    {"decode.rss_max_mib", {256, false}},
    {"trigger.to_stopped_us_p99", {300, false}},
    {"packets.wrong", {0, false}},
    {"ui.first_view_ms", {800, false}},
    {"ui.bundle_kb", {300, false}},
    {"ui.select_to_list_ms_p99", {300, false}},
    {"ui.trace_10k_ms", {700, false}},
    {"ui.frame_ms_p95", {33, false}},
    {"ui.snapshot_frame_ms_p95", {33, false}},
    {"deploy.deb_to_first_trace_s", {60, false}},
};

std::string number(double value) {
  char text[64];
  std::snprintf(text, sizeof text, value >= 1000 ? "%.0f" : "%.2f", value);
  return text;
}

std::string verdict(std::string_view key, double figure) {
  std::optional<Bound> bound = bound_of(key);
  if (!bound) return "";
  return (bound->at_least ? ">= " : "<= ") + number(bound->value) + (bound->met(figure) ? "  ok" : "  MISSED");
}

std::string versions() {
  return "fathom 0.1.0, gRPC " GRPC_CPP_VERSION_STRING ", Boost " BOOST_LIB_VERSION ", compiler " __VERSION__;
}

}  // namespace

std::optional<Bound> bound_of(std::string_view key) {
  for (const KeyBound& entry : kBounds) {
    if (entry.key == key) return entry.bound;
  }
  return std::nullopt;
}

void Report::add(std::string key, double figure, std::string what) {
  rows_.push_back({std::move(key), figure, std::move(what)});
}

bool Report::bounds_met() const {
  for (const Row& row : rows_) {
    std::optional<Bound> bound = bound_of(row.key);
    if (bound && !bound->met(row.figure)) return false;
  }
  return true;
}

std::string Report::table() const {
  std::string out =
      "bench " + bench_ + "\nmachine   " + machine_ + "\nversions  " + versions() + "\ncommand   " + command_ + "\n\n";
  for (const Row& row : rows_) {
    char line[512];
    std::snprintf(line, sizeof line, "%-42s %14s   %-18s %s\n", row.key.c_str(), number(row.figure).c_str(),
                  verdict(row.key, row.figure).c_str(), row.what.c_str());
    out += line;
  }
  for (const auto& [key, why] : unmeasured_) {
    char line[1024];
    std::snprintf(line, sizeof line, "%-42s   NOT MEASURED: %s\n", key.c_str(), why.c_str());
    out += line;
  }
  for (const std::string& text : notes_) out += "\n" + text;
  return out + "\n";
}

std::string Report::json() const {
  boost::json::object figures;
  for (const Row& row : rows_) figures[row.key] = row.figure;
  for (const auto& [key, figure] : details_) figures[key] = figure;
  boost::json::object all{{"bench", bench_}, {"machine", machine_}, {"versions", versions()}, {"command", command_}};
  all["figures"] = std::move(figures);
  boost::json::object unmeasured;
  for (const auto& [key, why] : unmeasured_) unmeasured[key] = why;
  if (!unmeasured.empty()) all["not_measured"] = std::move(unmeasured);
  return boost::json::serialize(all);
}

Result<> Report::write_json(const std::string& path) const {
  std::ofstream file(path);
  file << json() << "\n";
  file.close();
  if (!file) return unavailable("cannot write " + path);
  return {};
}

int Report::finish(const Result<>& done, const std::string& json_path) const {
  std::fputs(table().c_str(), stdout);
  std::fflush(stdout);
  if (!done) {
    std::fprintf(stderr, "bench-%s FAILED: %s\n", bench_.c_str(), done.error().message.c_str());
    return 1;
  }
  Result<> written = json_path.empty() ? Result<>() : write_json(json_path);
  if (!written) std::fprintf(stderr, "bench-%s: %s\n", bench_.c_str(), written.error().message.c_str());
  for (const auto& [key, why] : unmeasured_) {
    std::fprintf(stderr, "bench-%s FAILED to measure %s: %s\n", bench_.c_str(), key.c_str(), why.c_str());
  }
  return written && unmeasured_.empty() ? 0 : 1;
}

}  // namespace fathom::bench
