// A purge of a whole data directory: spans, and the snapshots of their traces.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>

#include "base/testing/temp_directory.h"
#include "query/conditions.h"
#include "query/purge/purge_data.h"
#include "query/testing/sample_snapshots.h"
#include "store/batch.h"
#include "store/rocks/rocks_store.h"

namespace fathom::query {
namespace {

namespace fs = std::filesystem;

TraceId data_trace(uint8_t number) {
  TraceId id;
  id.bytes.fill(number);
  return id;
}

class PurgeData : public ::testing::Test {
 protected:
  // Two traces of a span each, whose user has the trace's number.
  void SetUp() override {
    store::RocksOptions options;
    options.path = directory_.path();
    options.reserve_disk_bytes = 0;
    auto opened = store::RocksStore::open(std::move(options));
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    store::BatchBuilder builder;
    builder.set_resource({});
    builder.set_scope({});
    for (uint8_t number : {1, 2}) {
      const store::AttributeView user{"user.id", store::ValueView::of_int(number)};
      store::SpanView span{.trace_id = data_trace(number), .span_id = SpanId{{number}}};
      span.start_unix_nano = span.end_unix_nano = 1'795'221'000'000'000'000;
      span.attributes = std::span(&user, 1);
      builder.add(span);
    }
    std::promise<store::AppendOutcome> stored;
    (*opened)->append(builder.finish(), [&](const store::AppendResult& result) { stored.set_value(result.outcome); });
    ASSERT_EQ(stored.get_future().get(), store::AppendOutcome::kDurable);
  }

  std::string put_snapshot(uint64_t number, const TraceId& trace) {
    snapshot::Snapshot snapshot = testing::numbered_snapshot(number);
    snapshot.trigger.trace_id = trace;
    const testing::MadeSnapshot made = testing::made_snapshot(std::move(snapshot));
    const fs::path folder = fs::path(directory_.path()) / "server-snapshots/snapshots";
    fs::create_directories(folder);
    const fs::path path = folder / (made.id.hex() + ".snapshot");
    std::ofstream(path, std::ios::binary) << made.bytes;
    return path;
  }

  Result<PurgeCounts> purge(const std::string& condition, bool dry_run = false) {
    return purge_data({.directory = directory_.path(), .where = {*parse_condition(condition)}, .dry_run = dry_run});
  }

  TempDirectory directory_;
};

TEST_F(PurgeData, SnapshotsOfPurgedTracesGo) {
  const std::string purged = put_snapshot(1, data_trace(1)), kept = put_snapshot(2, data_trace(2));
  const std::string of_none = put_snapshot(3, {});
  Result<PurgeCounts> would = purge("user.id=1", /*dry_run=*/true);
  ASSERT_TRUE(would.ok()) << would.error().message;
  EXPECT_EQ(would->snapshots, 1u);
  EXPECT_TRUE(fs::exists(purged));
  Result<PurgeCounts> done = purge("user.id=1");
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(done->traces, 1u);
  EXPECT_EQ(done->spans, 1u);
  EXPECT_EQ(done->spans_left, 1u);
  EXPECT_EQ(done->snapshots, 1u);
  EXPECT_FALSE(fs::exists(purged));
  EXPECT_TRUE(fs::exists(kept));
  EXPECT_TRUE(fs::exists(of_none));
  EXPECT_EQ(purge("user.id=1")->traces, 0u);
}

TEST_F(PurgeData, ACancelledPurgeHasChangedNothing) {
  DataPurge request{.directory = directory_.path(), .where = {*parse_condition("user.id=1")}};
  request.is_cancelled = [] { return true; };
  Result<PurgeCounts> cancelled = purge_data(request);
  ASSERT_FALSE(cancelled.ok());
  EXPECT_EQ(cancelled.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(purge("user.id=1")->traces, 1u);
}

}  // namespace
}  // namespace fathom::query
