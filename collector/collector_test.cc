// What /metrics says of a collector that nothing has happened to yet.
#include "collector/collector.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "collector/testing/fake_store.h"

namespace fathom::collector {
namespace {

std::vector<std::string> labelled(const std::string& name, const std::string& label,
                                  const std::vector<std::string>& values) {
  std::vector<std::string> series;
  for (const std::string& value : values) series.push_back(name + "{" + label + "=\"" + value + "\"}");
  return series;
}

std::vector<std::string> expected_series() {
  std::vector<std::string> all = {"fathom_repaired_texts_total", "fathom_otlp_cut_off_total",
                                  "fathom_otlp_budget_used_bytes"};
  auto add = [&all](const std::vector<std::string>& more) { all.insert(all.end(), more.begin(), more.end()); };
  const std::vector<std::string> transports = {"grpc", "http_protobuf", "http_json", "agent"};
  for (const std::string& transport : transports) {
    add(labelled("fathom_otlp_requests_total", "transport=\"" + transport + "\",result",
                 {"ok", "partial", "invalid", "oversized", "unavailable", "not_found", "method", "media_type",
                  "timeout", "unimplemented"}));
  }
  add(labelled("fathom_otlp_received_bytes_total", "transport", transports));
  add(labelled("fathom_otlp_spans_total", "transport", transports));
  add(labelled("fathom_rejected_spans_total", "reason", {"trace_id", "span_id", "parent_span_id", "store"}));
  add(labelled("fathom_odd_spans_total", "oddity", {"end_before_start", "no_end"}));
  add(labelled("fathom_lost_attributes_total", "reason", {"nested_too_deep"}));
  add(labelled("fathom_lost_links_total", "reason", {"invalid_id"}));
  add(labelled("fathom_limited_total", "limit",
               {"attributes_per_span", "events_per_span", "links_per_span", "bytes_per_value", "bytes_per_name"}));
  add(labelled("fathom_http_refused_total", "listener=\"otlp_http\",reason",
               {"malformed", "header_too_large", "header_timeout", "not_admitted", "body_too_large", "body_timeout",
                "cut_off", "memory", "answer_memory", "reader_too_slow", "too_many_connections", "accept_failed"}));
  add(labelled("fathom_http_answers_total", "listener=\"otlp_http\",status",
               {"200", "204", "400", "404", "405", "408", "413", "415", "417", "431", "500", "501", "503"}));
  all.insert(all.end(), {"fathom_ingest_streams", "fathom_ingest_streams_refused_total", "fathom_nodes_connected",
                         "fathom_ingest_unknown_messages_total"});
  add(labelled("fathom_ingest_streams_ended_total", "reason",
               {"finished", "invalid", "too_much", "replaced", "silent", "stopping", "gone", "revoked"}));
  add(labelled("fathom_ingest_acks_total", "outcome", {"durable", "retry", "refused"}));
  add(labelled("fathom_lost_nodes_total", "reason", {"forgotten", "not_listed"}));
  return all;
}

// Starts a collector and ends the process: with 0 when every series is there and 0, else naming those that are not.
[[noreturn]] void start_and_check_metrics() {
  testing::FakeStore store;
  Collector collector(
      {.otlp_grpc_address = "127.0.0.1:0", .otlp_http_address = "127.0.0.1:0", .ingest_address = "127.0.0.1:0"}, store);
  bool good = collector.start().ok();
  std::string metrics = render_metrics();
  for (const std::string& series : expected_series()) {
    if (metrics.find("\n" + series + " 0\n") != std::string::npos) continue;
    std::fprintf(stderr, "missing: %s\n", series.c_str());
    good = false;
  }
  collector.stop(0);
  std::exit(good ? 0 : 1);
}

// The registry belongs to the process, and other tests count in it; only a new process is fresh.
TEST(CollectorMetrics, AreAllListedBeforeAnythingHappens) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(start_and_check_metrics(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace fathom::collector
