// Which process of which node a batch says that its spans are of.
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
  // Of the batch that was waiting first; nothing: its resource does not say it.
  std::optional<AnyValue> said(std::string_view key) {
    opentelemetry::proto::collector::trace::v1::ExportTraceServiceRequest request;
    EXPECT_TRUE(request.ParseFromString(outbox_.waiting.at(0).batch.otlp));
    for (const auto& attribute : request.resource_spans(0).resource().attributes()) {
      if (attribute.key() == key) return attribute.value();
    }
    return std::nullopt;
  }
};

// It has another number in a pid namespace of its own, and would like to be somebody else.
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
