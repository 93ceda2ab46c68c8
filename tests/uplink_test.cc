// The agent's uplink and the collector's stream, each for real, with everything in between that can go wrong: every
// batch is stored exactly once, however streams, collectors and agents end.
#include "node-agent/uplink/uplink.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "base/hash.h"
#include "base/time.h"
#include "collector/collector.h"
#include "node-agent/otlp/span_encoder.h"
#include "node-agent/testing/scripted_pool.h"
#include "node-agent/testing/steady_clock.h"
#include "otlp/trace_service.pb.h"
#include "store/model/memory_store.h"
#include "tests/testing/cutting_proxy.h"
#include "tests/testing/timeout.h"

namespace fathom {
namespace {

using agent::Outcome;
using agent::OutgoingBatch;
using agent::Uplink;
using agent::UplinkOptions;
using testing::CuttingProxy;
using testing::kTestTimeout;

constexpr uint32_t kSpansPerBatch = 5;

// Stores what it is given, now and then asks for it again later, and counts what was stored anew.
class CountingStore : public store::MemoryStore {
 public:
  void append(store::BatchPtr batch, std::function<void(store::AppendResult)> done) override {
    {
      std::lock_guard lock(mutex_);
      if (refuse_one_in_ > 0 && random_() % refuse_one_in_ == 0) {
        return done({store::AppendOutcome::kRetryable, "try again", false});
      }
    }
    const Hash128 identity = batch->identity();
    auto clock = batch->clock();
    store::MemoryStore::append(std::move(batch), [&, done](const store::AppendResult& result) {
      {
        std::lock_guard lock(mutex_);
        if (!result.duplicate) ++stored_[identity];
        clocks_.push_back(clock);
      }
      done(result);
    });
  }
  void refuse_one_in(uint32_t n) {
    std::lock_guard lock(mutex_);
    refuse_one_in_ = n;
  }
  size_t batches() {
    std::lock_guard lock(mutex_);
    return stored_.size();
  }
  uint64_t most_often() {
    std::lock_guard lock(mutex_);
    uint64_t most = 0;
    for (const auto& [identity, times] : stored_) most = std::max(most, times);
    return most;
  }
  std::vector<std::optional<ClockOffset>> clocks() {
    std::lock_guard lock(mutex_);
    return clocks_;
  }

 private:
  std::mutex mutex_;
  std::mt19937 random_{1};
  uint32_t refuse_one_in_ = 0;
  std::map<Hash128, uint64_t> stored_;
  std::vector<std::optional<ClockOffset>> clocks_;
};

OutgoingBatch make_batch(uint64_t number, size_t padding) {
  opentelemetry::proto::collector::trace::v1::ExportTraceServiceRequest request;
  auto* spans = request.add_resource_spans()->add_scope_spans();
  for (uint64_t i = 0; i < kSpansPerBatch; ++i) {
    Hash128 id = hash128(std::to_string(number) + "/" + std::to_string(i));
    std::string text(reinterpret_cast<const char*>(&id), sizeof id);
    auto& span = *spans->add_spans();
    span.set_trace_id(text);
    span.set_span_id(text.substr(0, 8));
    span.set_name("n" + std::to_string(number) + std::string(padding, 'x'));
    span.set_start_time_unix_nano(now_unix_nano());
    span.set_end_time_unix_nano(now_unix_nano() + 1);
  }
  OutgoingBatch batch;
  Hash128 identity = hash128("batch " + std::to_string(number));
  std::memcpy(batch.identity.data(), &identity, sizeof identity);
  batch.otlp = request.SerializeAsString();
  batch.spans = kSpansPerBatch;
  return batch;
}

class UplinkTest : public ::testing::Test {
 protected:
  UplinkTest() {
    std::string pattern = ::testing::TempDir() + "uplinkXXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  ~UplinkTest() override {
    uplink_.reset();
    collector_.reset();
    std::filesystem::remove_all(directory_);
  }

  void start_collector() {
    collector_.reset();
    collector::CollectorOptions options;
    options.otlp_grpc_address = options.otlp_http_address = "";
    options.ingest_address = "127.0.0.1:0";
    options.retry_delay_nano = 20'000'000;
    options.nodes = nodes_;
    collector_ = std::make_unique<collector::Collector>(options, store_);
    Result<collector::CollectorAddresses> addresses = collector_->start();
    ASSERT_TRUE(addresses.ok()) << addresses.error().message;
    proxy_.lead_to(addresses->ingest);
  }
  void start_uplink(uint64_t spool_bytes = 256ull << 20) {
    uplink_.reset();
    UplinkOptions options;
    options.collector_address = proxy_.address();
    options.node_id.bytes[0] = 1;
    options.host_name = "here";
    options.agent_version = "0.1.0";
    options.spool_directory = directory_ + "/spool";
    options.spool_limit_bytes = spool_bytes;
    options.memory_bytes = 200'000;
    options.reports_skipped_captures = true;
    options.slowest_period_nano = kNanosPerMinute;
    options.spool_after_nano = 200'000'000;
    options.stalled_after_nano = 500'000'000;
    uplink_ = std::make_unique<Uplink>(loop_, options, [this] { return facts(); });
    Result<> started = uplink_->start();
    ASSERT_TRUE(started.ok()) << started.error().message;
  }
  agent::NodeFacts facts() {
    return {.programs = 3, .losses = {{"pool_full", lost_}}, .told = [this, lost = lost_] { told_ = lost; }};
  }
  // What the collector has heard that programs lost.
  uint64_t lost_as_reported() {
    auto nodes = nodes_->nodes();
    return nodes.empty() || nodes[0].report.losses.empty() ? 0 : nodes[0].report.losses[0].second;
  }
  // A batch of this number; again after a restart, if nobody said that it is kept.
  void give(uint64_t number) {
    under_way_.insert(number);
    uplink_->send(make_batch(number, number % 7 * 300), [this, number](Outcome outcome) {
      EXPECT_EQ(outcome, Outcome::kKept);
      EXPECT_EQ(under_way_.erase(number), 1u) << "batch " << number << " was told of twice";
    });
  }
  bool run_until(const std::function<bool()>& holds) {
    auto end = std::chrono::steady_clock::now() + kTestTimeout;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      loop_.restart();
      loop_.run_for(std::chrono::milliseconds(10));
    }
    return true;
  }
  void run_for(uint64_t milliseconds) {
    loop_.restart();
    loop_.run_for(std::chrono::milliseconds(milliseconds));
  }

  std::string directory_;
  boost::asio::io_context loop_;
  CountingStore store_;
  uint64_t lost_ = 0;
  uint64_t told_ = 0;
  std::shared_ptr<collector::NodeRegistry> nodes_ = std::make_shared<collector::NodeRegistry>();
  CuttingProxy proxy_;
  std::unique_ptr<collector::Collector> collector_;
  std::unique_ptr<Uplink> uplink_;
  std::set<uint64_t> under_way_;
};

TEST_F(UplinkTest, CarriesBatchesAndTheClockHome) {
  start_collector();
  start_uplink();
  for (uint64_t n = 0; n < 50; ++n) give(n);
  ASSERT_TRUE(run_until([&] { return under_way_.empty(); }));
  EXPECT_EQ(store_.batches(), 50u);
  EXPECT_EQ(store_.stats().spans_stored, 50 * kSpansPerBatch);
  for (const auto& clock : store_.clocks()) {
    ASSERT_TRUE(clock) << "both clocks are this host's";
    EXPECT_LE(std::abs(clock->offset_nano), static_cast<int64_t>(clock->error_nano));
    EXPECT_LT(clock->error_nano, 100'000'000u);
  }
  ASSERT_TRUE(run_until([&] { return uplink_->status().acknowledged_spans == 50 * kSpansPerBatch; }));
  auto nodes = nodes_->nodes();
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].host_name, "here");
  EXPECT_FALSE(nodes[0].captures_off);
  EXPECT_TRUE(nodes[0].reports_skipped_captures);
  EXPECT_EQ(nodes[0].slowest_period_nano, kNanosPerMinute);
  EXPECT_EQ(nodes[0].report.programs, 3u);
  EXPECT_GT(nodes[0].report.resident_bytes, 1'000'000u);
  ASSERT_TRUE(run_until([&] { return nodes_->nodes()[0].report.clock.has_value(); })) << "in the next report";
}

// The mark that a program puts on a text comes with it all the way from the pool.
TEST_F(UplinkTest, ATextThatTheProgramCutIsStoredAsCut) {
  std::string items = agent::testing::Items()
                          .add(pool::ItemTag::kAttribute, pool::ItemType::kCut, "cut", "the beginn")
                          .text("whole", "all of it")
                          .bytes();
  std::string record = agent::testing::make_record(0, "work", items);
  agent::SpanRecordView span;
  ASSERT_TRUE(agent::read_span(record, span));
  agent::testing::SteadyClock host;
  agent::TickClock clock(host);
  clock.update();
  agent::AgentLosses losses;
  agent::SpanEncoder encoder(clock, losses);
  encoder.begin(pool::Clock::kMonotonic, {}, 1000);
  ASSERT_TRUE(encoder.span(span));
  start_collector();
  start_uplink();
  bool kept = false;
  uplink_->send({.identity = {1}, .otlp = encoder.finish(), .spans = 1}, [&kept](Outcome) { kept = true; });
  ASSERT_TRUE(run_until([&kept] { return kept; }));
  store::QueryBudget budget;
  TraceId id;
  std::memcpy(id.bytes.data(), span.head.trace_id, id.bytes.size());
  Result<store::StoredTrace> trace = store_.trace(id, budget);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const auto& attributes = trace->spans.at(0).span.attributes;
  ASSERT_EQ(attributes.size(), 2u);
  EXPECT_EQ(attributes[0].value.type, store::ValueType::kCut);
  EXPECT_EQ(attributes[0].value.text, "the beginn");
  EXPECT_EQ(attributes[1].value.type, store::ValueType::kString);
}

TEST_F(UplinkTest, SpoolsWithoutACollectorAndAnotherUplinkBringsItHome) {
  proxy_.lead_to("127.0.0.1:1");
  start_uplink();
  for (uint64_t n = 0; n < 20; ++n) give(n);
  ASSERT_TRUE(run_until([&] { return under_way_.empty(); }));
  EXPECT_GT(uplink_->status().spool_bytes, 0u);
  start_uplink();
  start_collector();
  ASSERT_TRUE(run_until([&] { return store_.batches() == 20 && uplink_->status().spool_bytes == 0; }));
  EXPECT_EQ(store_.most_often(), 1u);
  for (const auto& clock : store_.clocks()) EXPECT_TRUE(clock) << "measured since, and good for then";
}

TEST_F(UplinkTest, WhatWasSpooledIsSentByAnUplinkThatSpoolsNothing) {
  proxy_.lead_to("127.0.0.1:1");
  start_uplink();
  for (uint64_t n = 0; n < 5; ++n) give(n);
  ASSERT_TRUE(run_until([&] { return under_way_.empty(); }));
  start_collector();
  start_uplink(0);
  ASSERT_TRUE(run_until([&] { return store_.batches() == 5 && uplink_->status().spool_bytes == 0; }));
}

TEST_F(UplinkTest, FinishLeavesNothingInMemory) {
  start_collector();
  start_uplink();
  ASSERT_TRUE(run_until([&] { return uplink_->status().connected; }));
  for (uint64_t n = 0; n < 20; ++n) give(n);
  bool finished = false;
  uplink_->finish(30'000'000'000, [&] { finished = true; });
  ASSERT_TRUE(run_until([&] { return finished; }));
  EXPECT_TRUE(under_way_.empty());
  EXPECT_EQ(store_.batches(), 20u);
}

TEST_F(UplinkTest, TheLossesOfTheLastSecondsAreReportedBeforeTheEnd) {
  start_collector();
  lost_ = 7;
  start_uplink();
  ASSERT_TRUE(run_until([&] { return told_ == 7; }));
  EXPECT_EQ(lost_as_reported(), 7u);
  lost_ = 9;
  bool finished = false;
  uplink_->finish(30'000'000'000, [&] { finished = true; });
  ASSERT_TRUE(run_until([&] { return finished; }));
  EXPECT_EQ(told_, 9u);
  EXPECT_EQ(lost_as_reported(), 9u);
}

// What is told is with the collector, whatever became of the streams.
TEST_F(UplinkTest, NoLossIsToldThatTheCollectorHasNotHeard) {
  start_collector();
  start_uplink();
  for (lost_ = 1; lost_ < 5; ++lost_) {
    ASSERT_TRUE(run_until([&] { return uplink_->status().connected; }));
    ASSERT_TRUE(run_until([&] { return told_ == lost_; }));
    EXPECT_GE(lost_as_reported(), told_);
    proxy_.cut_all();
    ASSERT_TRUE(run_until([&] { return !uplink_->status().connected; }));
  }
}

TEST_F(UplinkTest, AStandstillOfTheNetworkIsSpooledAndEnds) {
  start_collector();
  start_uplink();
  give(1);
  ASSERT_TRUE(run_until([&] { return under_way_.empty(); }));
  proxy_.hold(true);
  for (uint64_t n = 2; n < 10; ++n) give(n);
  ASSERT_TRUE(run_until([&] { return under_way_.empty(); })) << "programs' memory is free again";
  EXPECT_EQ(store_.batches(), 1u);
  proxy_.hold(false);
  ASSERT_TRUE(run_until([&] { return store_.batches() == 9 && uplink_->status().spool_bytes == 0; }));
  EXPECT_EQ(store_.most_often(), 1u);
}

// Connections cut after any number of bytes, collectors and agents replaced, refusals: by seed.
class UplinkChaos : public UplinkTest, public ::testing::WithParamInterface<uint32_t> {};

TEST_P(UplinkChaos, EveryBatchIsStoredOnce) {
  std::mt19937 random(GetParam());
  start_collector();
  start_uplink();
  store_.refuse_one_in(7);
  uint64_t next = 0;
  for (int step = 0; step < 150; ++step) {
    uint32_t what = random() % 100;
    if (what < 70) {
      for (uint32_t left = random() % 8; left > 0 && uplink_->room(12'000); --left) give(next++);
      run_for(random() % 10);
    } else if (what < 80) {
      proxy_.cut_after(random() % 3 == 0 ? 0 : 1000 + random() % 60'000);
    } else if (what < 90) {
      proxy_.cut_all();
    } else if (what < 93) {
      proxy_.hold(random() % 2 == 0);
      run_for(random() % 300);
    } else if (what < 96) {
      if (random() % 2 == 0)
        proxy_.lead_to("127.0.0.1:1");
      else
        start_collector();
    } else {
      // Killed: what nobody said is kept is given again under the same identity.
      start_uplink();
      std::set<uint64_t> again = std::exchange(under_way_, {});
      for (uint64_t number : again) give(number);
    }
  }
  proxy_.cut_after(0);
  proxy_.hold(false);
  store_.refuse_one_in(0);
  start_collector();
  EXPECT_TRUE(run_until([&] {
    return under_way_.empty() && store_.batches() == next && uplink_->status().spool_bytes == 0;
  })) << "seed "
      << GetParam() << ": " << store_.batches() << " of " << next << ", under way " << under_way_.size() << ", spool "
      << uplink_->status().spool_bytes;
  EXPECT_EQ(store_.most_often(), 1u);
  EXPECT_EQ(store_.stats().spans_stored, next * kSpansPerBatch);
}

INSTANTIATE_TEST_SUITE_P(Seeds, UplinkChaos, ::testing::Range(0u, 8u));

}  // namespace
}  // namespace fathom
