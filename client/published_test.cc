// What a tool outside sees of this process and of a thread: OTEP 4719 and 4947.
#include <dlfcn.h>
#include <fathom/trace.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "client/process_context.h"
#include "client/testing/hex.h"
#include "client/testing/outside.h"

namespace fathom::client {
namespace {

using testing::find_process_context;
using testing::hex;
using testing::PublishedContext;

// As a profiler does for a thread that it has stopped: the symbol among the dynamic ones, then its value in the thread.
struct Record {
  bool there;
  std::string ids;
  uint8_t flags;
};
Record record_of_this_thread() {
  auto* slot = static_cast<const uint8_t**>(dlsym(RTLD_DEFAULT, "otel_thread_ctx_v1"));
  if (slot == nullptr || *slot == nullptr || (*slot)[24] != 1) return {false, "", 0};
  uint16_t attributes;
  std::memcpy(&attributes, *slot + 26, sizeof attributes);
  EXPECT_EQ(attributes, 0);
  return {true, hex(*slot, 16) + "-" + hex(*slot + 16, 8), (*slot)[25]};
}
std::string trace_and_span_ids(const Context& context) {
  return context.traceparent().substr(3, 49);
}

TEST(PublishedThread, TheSymbolIsFound) {
  ASSERT_NE(dlsym(RTLD_DEFAULT, "otel_thread_ctx_v1"), nullptr);
}

TEST(PublishedThread, TheActiveSpanIsThereAndTheOneBeforeComesBack) {
  {
    Span outer("outer");
    EXPECT_EQ(record_of_this_thread().ids, trace_and_span_ids(outer.context()));
    EXPECT_EQ(record_of_this_thread().flags, 3);
    {
      Span inner("inner");
      EXPECT_EQ(record_of_this_thread().ids, trace_and_span_ids(inner.context()));
      std::thread([] { EXPECT_FALSE(record_of_this_thread().there); }).join();
      const DetachedSpan detached("elsewhere");
      EXPECT_EQ(record_of_this_thread().ids, trace_and_span_ids(inner.context()));
    }
    EXPECT_EQ(record_of_this_thread().ids, trace_and_span_ids(outer.context()));
  }
  EXPECT_FALSE(record_of_this_thread().there);
}

TEST(PublishedProcess, TheMappingLeadsToTheResource) {
  publish_process_context();
  const PublishedContext context = find_process_context(getpid());
  ASSERT_TRUE(context.found);
  EXPECT_EQ(context.version, 2U);
  EXPECT_NE(context.published_nano, 0U);
  EXPECT_EQ(context.resource.at("process.executable.name"), "client_tests");
  EXPECT_EQ(context.resource.at("process.pid"), std::to_string(getpid()));
  EXPECT_EQ(context.resource.at("telemetry.sdk.name"), "fathom");
  EXPECT_EQ(context.attributes.at("threadlocal.schema_version"), "tlsdesc_v1_dev");
  EXPECT_EQ(context.attributes.count("threadlocal.attribute_key_map"), 1U);
}

TEST(PublishedProcess, AChildDoesNotHaveItsParentsContext) {
  publish_process_context();
  const pid_t child = fork();
  if (child == 0) _exit(find_process_context(getpid()).found ? 1 : 0);
  int status;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(PublishedProcess, TooManyAttributesLeaveNoHalfMessage) {
  auto text = std::make_unique<ResourceText>();
  for (int i = 0; i < 1000; i++) text->put("key" + std::to_string(i), "value");
  std::string buffer(100, 'x');
  EXPECT_EQ(encode_process_context(*text, 1, buffer.data(), buffer.size()), 0U);
  buffer.resize(3 * pool::kResourceBytes);
  EXPECT_GT(encode_process_context(*text, 1, buffer.data(), buffer.size()), 10000U);
}

}  // namespace
}  // namespace fathom::client
