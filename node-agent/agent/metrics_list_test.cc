// What /metrics says of an agent without a supervisor that nothing has happened to yet.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "node-agent/testing/agent_fixture.h"
#include "node-agent/uplink/uplink.h"

namespace fathom::agent {
namespace {

std::vector<std::string> expected_series() {
  std::vector<std::string> all = {"fathom_agent_acknowledged_spans_total",
                                  "fathom_agent_back_pressure_total",
                                  "fathom_agent_batch_bytes_total",
                                  "fathom_agent_batches_total",
                                  "fathom_agent_connected",
                                  "fathom_agent_programs",
                                  "fathom_agent_retries_total",
                                  "fathom_agent_spans_total",
                                  "fathom_agent_spool_bytes",
                                  "fathom_agent_spool_damaged_total",
                                  "fathom_agent_spool_full_total",
                                  "fathom_agent_spooled_spans_total",
                                  "fathom_agent_unknown_threads_total",
                                  "fathom_agent_uplink_memory_bytes",
                                  "fathom_agent_wild_counts_total"};
  auto add = [&all](const std::string& name, const std::vector<std::string>& reasons) {
    for (const std::string& reason : reasons) all.push_back(name + "{reason=\"" + reason + "\"}");
  };
  add("fathom_agent_lost_spans_total", {"pool_full", "pool_not_ready", "malformed", "unknown_type", "unfinished",
                                        "ended_program", "refused", "rejected", "spool_damaged"});
  add("fathom_agent_lost_details_total",
      {"attributes_too_large", "details_too_large", "value_cut", "malformed", "unknown"});
  add("fathom_agent_lost_batches_total", {"marks"});
  add("fathom_agent_lost_pools_total", {"taken_over", "no_room", "endless"});
  add("fathom_agent_refused_connections_total",
      {"too_many", "too_many_of_user", "no_offer", "no_credentials", "version", "invalid_offer", "not_quiet",
       "too_many_pools", "pool_version", "invalid_pool", "accept_failed", "disposal_full", "disposal_full_of_user"});
  return all;
}

class AgentMetrics : public testing::AgentTest {
 protected:
  // Starts an agent with its uplink and ends the process: with 0 when every series is there and 0, else naming those
  // that are not.
  [[noreturn]] void start_and_check() {
    UplinkOptions options;
    options.collector_address = "127.0.0.1:1";
    options.spool_directory = directory_ + "/spool";
    Uplink uplink(loop_, options, [] { return NodeFacts(); });
    bool good = uplink.start().ok() && start().ok();
    std::string metrics = "\n" + render_metrics();
    for (const std::string& series : expected_series()) {
      if (metrics.find("\n" + series + " 0\n") != std::string::npos) continue;
      std::fprintf(stderr, "missing: %s\n", series.c_str());
      good = false;
    }
    std::filesystem::remove_all(directory_);
    std::_Exit(good ? 0 : 1);
  }
};

// The registry belongs to the process, and other tests count in it; only a new process is fresh.
TEST_F(AgentMetrics, AreAllListedBeforeAnythingHappens) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(start_and_check(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace fathom::agent
