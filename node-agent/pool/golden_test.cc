// Pools of version 1 as the client's tests keep them, without area 5 and with it: agents read every version that was
// ever released.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <fstream>
#include <iterator>

#include "node-agent/otlp/span_encoder.h"
#include "node-agent/pool/pool_reader.h"
#include "node-agent/testing/steady_clock.h"
#include "otlp/trace_service.pb.h"

namespace fathom::agent {
namespace {

using opentelemetry::proto::trace::v1::Span;

class GoldenPool : public ::testing::TestWithParam<const char*> {
 protected:
  GoldenPool() {
    std::ifstream file(std::string(FATHOM_TESTDATA "/../../client/testdata/") + GetParam(), std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    Fd memory(::memfd_create("golden", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(::write(memory.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    EXPECT_EQ(::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    Result<PoolFile> opened = PoolFile::open(std::move(memory), bytes.size());
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    if (opened) reader_.emplace(*std::move(opened), 1, losses_);
    clock_.update();
  }
  std::vector<Span> take(bool ended) {
    encoder_.begin(reader_->file().shape().clock, encode_resource(reader_->new_resource(ended).value_or("")), 0);
    Collected collected = reader_->collect(encoder_, 1 << 20, ended);
    reader_->begin();
    reader_->acknowledge();
    EXPECT_TRUE(request_.ParseFromString(encoder_.finish()));
    const auto& spans = request_.resource_spans(0).scope_spans(0).spans();
    EXPECT_EQ(static_cast<uint32_t>(spans.size()), collected.spans);
    return {spans.begin(), spans.end()};
  }

  testing::SteadyClock host_;
  TickClock clock_{host_};
  AgentLosses losses_;
  SpanEncoder encoder_{clock_, losses_};
  std::optional<PoolReader> reader_;
  opentelemetry::proto::collector::trace::v1::ExportTraceServiceRequest request_;
};

TEST_P(GoldenPool, VersionOneIsReadWhole) {
  ASSERT_TRUE(reader_);
  uint64_t malformed = losses_.malformed_items.value();
  std::vector<Span> alive = take(false);
  ASSERT_EQ(alive.size(), 2u);
  const auto& resource = request_.resource_spans(0).resource();
  ASSERT_EQ(resource.attributes_size(), 2);  // in the program's order
  EXPECT_EQ(resource.attributes(0).key(), "service.name");
  EXPECT_EQ(resource.attributes(0).value().string_value(), "golden");
  EXPECT_EQ(resource.attributes(1).key(), "process.pid");
  EXPECT_EQ(resource.attributes(1).value().int_value(), 100);
  const Span& full = alive[alive[0].name() == "GET /cart" ? 0 : 1];
  EXPECT_EQ(full.trace_id(), std::string(16, '\xa1'));
  EXPECT_EQ(full.flags(), 0x303u);
  EXPECT_EQ(full.end_time_unix_nano() - full.start_time_unix_nano(),
            reader_->file().shape().clock == pool::Clock::kTsc ? 500'000u : 1'000'000u);
  ASSERT_EQ(full.attributes_size(), 5);
  EXPECT_EQ(full.attributes(0).value().int_value(), -3);
  EXPECT_EQ(full.attributes(4).value().string_value(), "the begin of");
  ASSERT_EQ(full.events_size(), 1);
  EXPECT_EQ(full.events(0).attributes(0).key(), "attempt");
  ASSERT_EQ(full.links_size(), 1);
  EXPECT_EQ(full.links(0).trace_state(), "z=9");
  EXPECT_EQ(full.status().message(), "card refused");
  EXPECT_EQ(full.trace_state(), "a=1,fathom=0123");
  EXPECT_EQ(full.dropped_links_count(), 3u);
  EXPECT_EQ(losses_.malformed_items.value(), malformed);
}

TEST_P(GoldenPool, BehindItsHoleThereIsAnotherSpan) {
  ASSERT_TRUE(reader_);
  EXPECT_EQ(take(true).size(), 3u);
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenPool, ::testing::Values("pool-v1.bin", "pool-v1-open.bin"));

}  // namespace
}  // namespace fathom::agent
