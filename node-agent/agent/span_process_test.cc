// Tests the process and the node that a batch names for its spans.
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/process_attributes.h"
#include "node-agent/testing/agent_fixture.h"

namespace fathom::agent {
namespace {

using opentelemetry::proto::common::v1::AnyValue;
using testing::make_record;
using testing::ScriptedPool;
using testing::SocketClient;

class DrainedProcessTest : public testing::AgentTest {
 protected:
  // The value of `key` in the first waiting batch's resource; no value: it has none.
  std::optional<AnyValue> said(std::string_view key) {
    opentelemetry::proto::collector::trace::v1::ExportTraceServiceRequest request;
    EXPECT_TRUE(request.ParseFromString(outbox_.waiting.at(0).batch.otlp));
    for (const auto& attribute : request.resource_spans(0).resource().attributes()) {
      if (attribute.key() == key) return attribute.value();
    }
    return std::nullopt;
  }
};

// The program has its own pid namespace, and writes another process's id into its resource.
TEST_F(DrainedProcessTest, AContainersProcessIsNamedAsItsNodeNumbersIt) {
  options_.drain.node_id[0] = 0x0d;
  must_start();
  keeps_ = false;
  ScriptedPool pool;
  pool.header().pid = 1;
  pool.set_resource({{"process.pid", "1"}, {"fathom.process.id", "4711"}});
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, pool), pool::Verdict::kTaken);
  pool.claim(0);
  pool.put(0, make_record(1));
  ASSERT_TRUE(until([&] { return !outbox_.waiting.empty(); }));
  ASSERT_TRUE(said("process.pid"));
  EXPECT_EQ(said("process.pid")->int_value(), 1);
  ASSERT_TRUE(said(kProcessIdAttribute));
  EXPECT_EQ(said(kProcessIdAttribute)->int_value(), ::getpid());
  ASSERT_TRUE(said(kNodeIdAttribute));
  EXPECT_EQ(said(kNodeIdAttribute)->string_value(), "0d000000000000000000000000000000");
}

}  // namespace
}  // namespace fathom::agent
