// Captures over the agents' stream, each side for real: what the agent's uplink is given is what the store has, however
// streams and collectors end, and spans do not wait for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <map>
#include <random>

#include "base/testing/temp_directory.h"
#include "base/time.h"
#include "collector/collector.h"
#include "ingest/collector_messages.h"
#include "node-agent/uplink/uplink.h"
#include "otlp/trace_service.pb.h"
#include "store/model/memory_captures.h"
#include "store/model/memory_store.h"
#include "store/rocks/rocks_store.h"
#include "store/testing/capture_builder.h"
#include "tests/testing/cutting_proxy.h"
#include "tests/testing/timeout.h"

namespace fathom {
namespace {

using agent::CaptureFate;
using agent::OutgoingCapture;
using agent::Uplink;
using store::testing::read_all;
using store::testing::test_content;
using testing::CuttingProxy;
using testing::kTestTimeout;

// Answers what it is asked, and keeps what it is told.
class RecordingHandler : public agent::ControlHandler {
 public:
  void thresholds(ingest::Thresholds said) override {
    if (said.replaces) operations_.clear();
    for (auto& operation : said.operations) operations_.push_back(std::move(operation));
  }
  void capture(agent::CaptureRequest request, std::function<void(agent::CaptureAnswer)> answer) override {
    answer({.request_id = request.request_id, .capture_ids = {{{7}}}, .skipped = request.reason});
  }
  void tracepoints(agent::TracepointRequest request, std::function<void(agent::TracepointAnswer)> answer) override {
    answer({.request_id = request.request_id, .programs = {{3, "checkout", {{"cache.miss", "a.cc", 1, true}}}}});
  }
  void tracepoint_rules(std::vector<agent::TracepointRule>) override {}
  size_t operations() const { return operations_.size(); }

 private:
  std::vector<agent::OperationThreshold> operations_;
};

// What the collector's side hears, under a lock: it comes on any thread.
class RecordingAnswers : public collector::NodeAnswers {
 public:
  explicit RecordingAnswers(collector::NodePort& port) : port_(port) {}
  void node_connected(const collector::NodeId& node) override {
    add("connected");
    for (std::string& message : ingest::encode_in_parts(ingest::Thresholds{true, {{"", "checkout", "GET /", 2, 99}}})) {
      port_.send(node, std::move(message));
    }
  }
  void node_gone(const collector::NodeId&) override { add("gone"); }
  void answered(const collector::NodeId&, collector::CaptureAnswer answer) override {
    add("capture " + std::to_string(answer.request_id) + " " + answer.skipped);
  }
  void answered(const collector::NodeId&, collector::TracepointAnswer answer) override {
    add("tracepoints " + std::to_string(answer.request_id) + " " + answer.programs.at(0).tracepoints.at(0).name);
  }
  void slow_trace(const collector::NodeId&, ingest::SlowTrace) override {}
  void capture_begins(const collector::NodeId&, const store::CaptureInfo& info) override {
    add("begins " + info.service);
  }
  std::vector<std::string> heard() {
    std::lock_guard lock(mutex_);
    return heard_;
  }

 private:
  void add(std::string what) {
    std::lock_guard lock(mutex_);
    heard_.push_back(std::move(what));
  }

  collector::NodePort& port_;
  std::mutex mutex_;
  std::vector<std::string> heard_;
};

OutgoingCapture make_capture(uint64_t number, size_t size) {
  OutgoingCapture capture;
  capture.begin.id = store::testing::test_capture_id(number);
  capture.begin.trace_id.bytes.fill(0x17);
  capture.begin.trigger = CaptureTrigger::kSlow;
  capture.begin.service = "checkout";
  capture.begin.pid = 12;
  capture.begin.operation = "GET /";
  capture.begin.start_unix_nano = now_unix_nano() - kNanosPerSecond;
  capture.begin.end_unix_nano = now_unix_nano();
  capture.content = std::make_shared<const std::string>(test_content(number, size));
  return capture;
}

agent::OutgoingBatch one_span_batch(uint64_t number) {
  opentelemetry::proto::collector::trace::v1::ExportTraceServiceRequest request;
  auto& span = *request.add_resource_spans()->add_scope_spans()->add_spans();
  span.set_trace_id(std::string(15, 't') + static_cast<char>(number % 200 + 1));
  span.set_span_id("12345678");
  span.set_name("n");
  span.set_start_time_unix_nano(now_unix_nano());
  span.set_end_time_unix_nano(now_unix_nano() + 1);
  agent::OutgoingBatch batch;
  batch.identity[0] = 1;
  std::copy_n(reinterpret_cast<const uint8_t*>(&number), sizeof number, batch.identity.begin() + 8);
  batch.otlp = request.SerializeAsString();
  batch.spans = 1;
  return batch;
}

class CaptureUpload : public ::testing::Test {
 protected:
  ~CaptureUpload() override {
    uplink_.reset();
    collector_.reset();
  }
  void start_collector(store::CaptureStore* captures) {
    collector_.reset();
    collector::CollectorOptions options;
    options.otlp_grpc_address = options.otlp_http_address = "";
    options.ingest_address = "127.0.0.1:0";
    options.retry_delay_nano = 20'000'000;
    options.captures = captures;
    options.streams = streams_;
    options.answers = answers_;
    collector_ = std::make_unique<collector::Collector>(options, spans_);
    Result<collector::CollectorAddresses> addresses = collector_->start();
    ASSERT_TRUE(addresses.ok()) << addresses.error().message;
    proxy_.lead_to(addresses->ingest);
    address_ = addresses->ingest;
  }
  void start_uplink(const std::string& address) {
    agent::UplinkOptions options;
    options.collector_address = address;
    options.node_id.bytes[0] = 1;
    options.host_name = "here";
    uplink_ = std::make_unique<Uplink>(loop_, options, nullptr);
    uplink_->set_control(&handler_);
    ASSERT_TRUE(uplink_->start().ok());
  }
  void give(uint64_t number, size_t size) {
    OutgoingCapture capture = make_capture(number, size);
    capture.made = uplink_->mark();
    contents_[number] = capture.content;
    uplink_->send(std::move(capture), [this, number](CaptureFate fate) { fates_[number].push_back(fate); });
  }
  bool run_until(const std::function<bool()>& holds) {
    auto end = std::chrono::steady_clock::now() + kTestTimeout;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      loop_.restart();
      loop_.run_one_for(std::chrono::milliseconds(10));
    }
    return true;
  }
  bool all_durable() {
    return fates_.size() == contents_.size() && std::all_of(fates_.begin(), fates_.end(), [](const auto& item) {
             return item.second == std::vector{CaptureFate::kDurable};
           });
  }
  // Nanoseconds from handing one batch over to hearing that it is kept.
  uint64_t time_a_batch(uint64_t number) {
    uint64_t began = now_monotonic_nano();
    bool kept = false;
    uplink_->send(one_span_batch(number), [&kept](agent::Outcome) { kept = true; });
    EXPECT_TRUE(run_until([&] { return kept; }));
    return now_monotonic_nano() - began;
  }
  void expect_stored(store::CaptureStore& captures) {
    for (const auto& [number, content] : contents_) {
      store::CaptureId id = store::testing::test_capture_id(number);
      EXPECT_TRUE(read_all(captures, id) == *content) << number;
    }
  }

  boost::asio::io_context loop_;
  store::MemoryStore spans_;
  store::MemoryCaptures captures_;
  std::shared_ptr<collector::NodeStreams> streams_ = std::make_shared<collector::NodeStreams>();
  std::shared_ptr<RecordingAnswers> answers_ = std::make_shared<RecordingAnswers>(*streams_);
  RecordingHandler handler_;
  CuttingProxy proxy_;
  std::string address_;
  std::unique_ptr<collector::Collector> collector_;
  std::unique_ptr<Uplink> uplink_;
  std::map<uint64_t, std::shared_ptr<const std::string>> contents_;
  std::map<uint64_t, std::vector<CaptureFate>> fates_;
};

TEST_F(CaptureUpload, ComesHomeWithItsHeader) {
  start_collector(&captures_);
  start_uplink(address_);
  give(1, 3 << 20);
  give(2, 1);
  ASSERT_TRUE(run_until([&] { return all_durable(); }));
  expect_stored(captures_);
  Result<store::StoredCapture> stored = captures_.info(store::testing::test_capture_id(1));
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ(stored->info.node_id.bytes[0], 1);
  EXPECT_EQ(stored->info.node_name, "here");
  EXPECT_EQ(stored->info.service, "checkout");
  EXPECT_EQ(stored->info.operation, "GET /");
  EXPECT_EQ(stored->info.pid, 12u);
  EXPECT_EQ(stored->info.trigger, CaptureTrigger::kSlow);
  ASSERT_TRUE(stored->info.clock) << "both clocks are this host's";
  EXPECT_LE(std::abs(stored->info.clock->offset_nano), static_cast<int64_t>(stored->info.clock->error_nano));
  EXPECT_EQ(uplink_->status().capture_memory_bytes, 0u);
}

TEST_F(CaptureUpload, ALargeOneBesideSpansWhileTheCollectorIsReplaced) {
  start_collector(&captures_);
  proxy_.cut_after(6 << 20);
  start_uplink(proxy_.address());
  ASSERT_TRUE(run_until([&] { return uplink_->status().connected; }));
  give(1, 20 << 20);
  ASSERT_TRUE(run_until([&] { return !uplink_->status().connected; })) << "in the middle of it";
  EXPECT_TRUE(fates_.empty());
  proxy_.cut_after(0);
  start_collector(&captures_);
  uint64_t batches = 0;
  while (batches < 20) time_a_batch(batches++);
  ASSERT_TRUE(run_until([&] { return all_durable(); }));
  expect_stored(captures_);
  EXPECT_EQ(spans_.stats().spans_stored, batches);
}

// By seed: connections cut after any number of bytes, and collectors replaced.
class CaptureChaos : public CaptureUpload, public ::testing::WithParamInterface<uint32_t> {};

TEST_P(CaptureChaos, EveryCaptureIsStoredAndToldOnce) {
  std::mt19937 random(GetParam());
  start_collector(&captures_);
  start_uplink(proxy_.address());
  uint64_t next = 0;
  for (int step = 0; step < 60; ++step) {
    uint32_t what = random() % 100;
    if (what < 60) {
      if (uplink_->status().capture_memory_bytes < 40u << 20) give(next++, 1 + random() % (1 + random() % 2'000'000));
    } else if (what < 75) {
      proxy_.cut_after(random() % 3 == 0 ? 0 : 1000 + random() % 3'000'000);
    } else if (what < 90) {
      proxy_.cut_all();
    } else {
      start_collector(&captures_);
    }
    loop_.restart();
    loop_.run_for(std::chrono::milliseconds(random() % 20));
  }
  proxy_.cut_after(0);
  start_collector(&captures_);
  ASSERT_TRUE(run_until([&] { return all_durable(); })) << "seed " << GetParam();
  expect_stored(captures_);
}

INSTANTIATE_TEST_SUITE_P(Seeds, CaptureChaos, ::testing::Range(0u, 6u));

TEST_F(CaptureUpload, ACollectorWithoutCapturesTakesNone) {
  start_collector(nullptr);
  start_uplink(address_);
  give(1, 1000);
  ASSERT_TRUE(run_until([&] { return !fates_.empty(); }));
  EXPECT_EQ(fates_[1], std::vector{CaptureFate::kNotTaken});
}

TEST_F(CaptureUpload, AnOrderlyEndWaitsForCaptures) {
  start_collector(&captures_);
  start_uplink(address_);
  ASSERT_TRUE(run_until([&] { return uplink_->status().connected; }));
  give(1, 10 << 20);
  bool finished = false;
  uplink_->finish(240'000'000'000, [&] { finished = true; });
  ASSERT_TRUE(run_until([&] { return finished; }));
  EXPECT_TRUE(all_durable());
  expect_stored(captures_);
}

TEST_F(CaptureUpload, AgentsAreAskedAndAnswer) {
  start_collector(&captures_);
  start_uplink(address_);
  ASSERT_TRUE(run_until([&] { return handler_.operations() == 1; })) << "what was sent as it connected";
  std::vector<collector::ConnectedNode> nodes = streams_->connected();
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].host_name, "here");
  const collector::NodeId node = nodes[0].node_id;
  ASSERT_TRUE(streams_->send(node, ingest::encode(ingest::CaptureRequest{.request_id = 5, .pid = 3, .reason = "why"})));
  ASSERT_TRUE(streams_->send(node, ingest::encode(ingest::TracepointRequest{.request_id = 6, .patterns = {"*"}})));
  ASSERT_TRUE(run_until([&] { return answers_->heard().size() == 3; }));
  EXPECT_EQ(answers_->heard(), (std::vector<std::string>{"connected", "capture 5 why", "tracepoints 6 cache.miss"}));
  give(1, 10);
  ASSERT_TRUE(run_until([&] { return all_durable(); }));
  EXPECT_EQ(answers_->heard().back(), "begins checkout");
  uplink_.reset();
  ASSERT_TRUE(run_until([&] { return answers_->heard().back() == "gone"; }));
  EXPECT_FALSE(streams_->send(node, ""));
}

double millis(std::vector<uint64_t>& nano, size_t percent) {
  std::sort(nano.begin(), nano.end());
  return static_cast<double>(nano[(nano.size() - 1) * percent / 100]) / 1e6;
}

uint64_t cpu_nano() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<uint64_t>(used.tv_sec) * kNanosPerSecond + static_cast<uint64_t>(used.tv_nsec);
}

// Asserts nothing about time, so it runs on request only; TMPDIR says which disk.
class CaptureUploadSpeed : public CaptureUpload {
 protected:
  void time_uploads(const char* where, store::CaptureStore& captures) {
    start_collector(&captures);
    start_uplink(address_);
    ASSERT_TRUE(run_until([&] { return uplink_->status().connected && uplink_->status().clock; }));
    std::vector<uint64_t> durable;
    const uint64_t cpu_began = cpu_nano();
    for (uint64_t i = 0; i < kTimes; ++i) {
      OutgoingCapture capture = make_capture(i, 0);
      capture.content = content_;
      capture.made = uplink_->mark();
      bool done = false;
      uint64_t began = now_monotonic_nano();
      uplink_->send(std::move(capture), [&](CaptureFate fate) { done = fate == CaptureFate::kDurable; });
      ASSERT_TRUE(run_until([&] { return done; }));
      durable.push_back(now_monotonic_nano() - began);
    }
    const double cpu_ms = static_cast<double>(cpu_nano() - cpu_began) / 1e6 / kTimes;
    std::printf("8 MiB to durable %s: median %.1f ms, 99 %% %.1f ms, processor %.1f ms\n", where, millis(durable, 50),
                millis(durable, 99), cpu_ms);
  }
  void time_batches() {
    std::vector<uint64_t> alone, beside;
    for (uint64_t i = 0; i < 200; ++i) alone.push_back(time_a_batch(i));
    give(100, 64 << 20);
    for (uint64_t i = 0; !all_durable(); ++i) beside.push_back(time_a_batch(1000 + i));
    std::printf("a batch: alone %.2f ms (99 %% %.2f), beside 64 MiB %.2f ms (99 %% %.2f, %zu of them)\n",
                millis(alone, 50), millis(alone, 99), millis(beside, 50), millis(beside, 99), beside.size());
  }

  static constexpr uint64_t kTimes = 40;
  const std::shared_ptr<const std::string> content_ = std::make_shared<const std::string>(test_content(1, 8 << 20));
};

TEST_F(CaptureUploadSpeed, DISABLED_EightMiB) {
  time_uploads("in memory", captures_);
  const TempDirectory directory;
  store::RocksOptions options;
  options.path = directory / "data";
  Result<std::unique_ptr<store::RocksStore>> store = store::RocksStore::open(options);
  ASSERT_TRUE(store.ok());
  time_uploads("on disk", (*store)->captures());
  time_batches();
  uplink_.reset();
  collector_.reset();
  store->reset();
}

}  // namespace
}  // namespace fathom
