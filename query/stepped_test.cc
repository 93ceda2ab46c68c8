// Which rows and traces are marked: by a stored snapshot's windows, processes and hosts.
#include "query/stepped.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "query/testing/sample_snapshots.h"
#include "query/testing/sample_store.h"

namespace fathom::query {
namespace {

using testing::kMilli;
using testing::kSampleStart;
using testing::sample_span_id;
using testing::sample_trace_id;

constexpr int32_t kPid = 4711;

struct Said {
  int64_t pid = kPid;
  const char* host = "node-0";  // null: not said
  uint64_t from_nano = kSampleStart;
  uint64_t duration_nano = 100 * kMilli;
  int64_t clock_nano = 0;
  std::vector<std::pair<const char*, const char*>> more = {};  // of the resource
};

class SteppedTest : public ::testing::Test {
 protected:
  // A trace of one span.
  void add_trace(uint64_t n, const Said& said) { add_span(n, sample_span_id(n), {}, said); }
  void add_child(uint64_t n, const Said& said) { add_span(n, sample_span_id(100 + n), sample_span_id(n), said); }
  void add_span(uint64_t n, const SpanId& id, const SpanId& parent, const Said& said) {
    std::vector<store::AttributeView> resource{{"service.name", store::ValueView::of_string("shop")},
                                               {"process.pid", store::ValueView::of_int(said.pid)}};
    if (said.host != nullptr) resource.push_back({"host.name", store::ValueView::of_string(said.host)});
    for (const auto& [key, value] : said.more) resource.push_back({key, store::ValueView::of_string(value)});
    store::BatchBuilder builder({}, ClockOffset{said.clock_nano, 5});
    builder.set_resource({resource, "", 0});
    builder.add({.trace_id = sample_trace_id(n),
                 .span_id = id,
                 .parent_span_id = parent,
                 .start_unix_nano = said.from_nano,
                 .end_unix_nano = said.from_nano + said.duration_nano,
                 .name = "buy"});
    spans_.append(builder.finish(), [](store::AppendResult) {});
  }
  // Of host "node-0", whose image is /usr/bin/shop.
  SnapshotId add_window(uint64_t from_nano, uint64_t duration_nano) {
    return add_snapshot(stepped_snapshot(kPid, from_nano, duration_nano));
  }
  static snapshot::Snapshot stepped_snapshot(int32_t pid, uint64_t from_nano, uint64_t duration_nano) {
    snapshot::Snapshot snapshot = testing::numbered_snapshot(2);
    snapshot.sideband.push_back({.kind = snapshot::SidebandKind::kStepped,
                                 .tsc = 1,
                                 .pid = pid,
                                 .address = from_nano,
                                 .length = duration_nano});
    return snapshot;
  }
  SnapshotId add_snapshot(const snapshot::Snapshot& snapshot) {
    const auto made = testing::made_snapshot(snapshot);
    EXPECT_TRUE(snapshots_.upload(made).ok());
    return made.id;
  }
  Stores stores() { return {spans_, nullptr, &snapshots_.store()}; }
  std::vector<bool> marks(store::By by = store::By::kTrace) {
    SlowestQuery query;
    query.by = by;
    auto answer = run_slowest(stores(), query, budget_);
    EXPECT_TRUE(answer.ok());
    std::map<TraceId, bool> found;
    for (const SlowestRow& row : answer->rows) found[row.trace_id] = row.stepped;
    std::vector<bool> marks;
    for (uint64_t n = 1; n <= found.size(); ++n) marks.push_back(found.at(sample_trace_id(n)));
    return marks;
  }

  store::MemoryStore spans_;
  testing::SampleSnapshots snapshots_;
  store::QueryBudget budget_;
};

TEST_F(SteppedTest, RequestsThatAHeldProcessServedMeanwhileAreMarked) {
  add_trace(1, {});
  add_trace(2, {.pid = kPid + 1});
  add_trace(3, {.host = "node-1"});
  add_trace(4, {.host = nullptr});
  add_trace(5, {.from_nano = kSampleStart + 200 * kMilli});
  EXPECT_EQ(marks(), (std::vector<bool>{false, false, false, false, false})) << "nothing was stepped yet";
  add_window(kSampleStart + 99 * kMilli, 101 * kMilli);
  EXPECT_EQ(marks(), (std::vector<bool>{true, false, false, true, false}));
  EXPECT_EQ(marks(store::By::kSpan), (std::vector<bool>{true, false, false, true, false}));
}

// Window and span were told by the clock of one host, whatever the server makes of it.
TEST_F(SteppedTest, TheClockOfTheHostCounts) {
  add_trace(1, {.clock_nano = 2'000'000'000});
  add_trace(2, {.from_nano = kSampleStart - 1000 * kMilli, .clock_nano = 1'000'000'000});
  add_window(kSampleStart, 50 * kMilli);
  EXPECT_EQ(marks(), (std::vector<bool>{true, false}));
}

TEST_F(SteppedTest, ATraceSaysWhatWasHeldAndForHowLong) {
  add_trace(1, {});
  add_trace(2, {.pid = 5});
  const SnapshotId id = add_window(kSampleStart + kMilli, 7 * kMilli);
  auto document = run_trace(stores(), sample_trace_id(1), budget_);
  ASSERT_TRUE(document.ok());
  EXPECT_EQ(
      boost::json::serialize(boost::json::parse(*document).at("stepped")),
      R"([{"snapshot_id":")" + id.hex() +
          R"(","host":"node-0","pid":4711,"start_time_unix_nano":"1795221000001000000","duration_nano":7000000}])");
  document = run_trace(stores(), sample_trace_id(2), budget_);
  ASSERT_TRUE(document.ok());
  EXPECT_EQ(document->find("\"stepped\""), std::string::npos);
}

// The call came while the process was held, and was read when that was over.
TEST_F(SteppedTest, ACallThatWaitedUnreadCounts) {
  for (uint64_t n : {1, 2}) {
    Said caller{.pid = 5, .from_nano = n == 1 ? kSampleStart : kSampleStart + 60 * kMilli};
    add_trace(n, caller);
    add_child(n, {.from_nano = kSampleStart + 70 * kMilli, .duration_nano = 10 * kMilli});
  }
  add_window(kSampleStart, 50 * kMilli);
  EXPECT_EQ(marks(), (std::vector<bool>{true, false}));
}

// Of a program that is not in the memory of the process that was held.
TEST_F(SteppedTest, WithoutAHostTheProgramMustBeOneThatItRan) {
  snapshot::Snapshot snapshot = stepped_snapshot(kPid, kSampleStart, 50 * kMilli);
  snapshot.sideband.push_back({.kind = snapshot::SidebandKind::kMap, .tsc = 1, .pid = kPid, .length = 1, .image = 0});
  snapshot.images.push_back({.name = "/lib/libc.so.6", .build_id = "\x03", .content = {}, .missing = "gone"});
  snapshot.sideband.push_back({.kind = snapshot::SidebandKind::kMap, .tsc = 1, .pid = kPid, .length = 1, .image = 1});
  add_trace(1, {.host = nullptr, .more = {{"process.executable.name", "shop"}}});
  add_trace(2, {.host = nullptr, .more = {{"process.executable.name", "cart"}}});
  add_trace(3, {.host = nullptr, .more = {{"process.executable.path", "/opt/bin/cart"}}});
  add_trace(4, {.host = nullptr, .more = {{"process.executable.path", "/opt/bin/shop"}}});
  add_trace(5, {.more = {{"process.executable.name", "a title that it gave itself"}}});
  add_trace(6, {.host = nullptr, .more = {{"process.executable.name", "shop2.1"}}});
  add_snapshot(snapshot);
  EXPECT_EQ(marks(), (std::vector<bool>{true, false, false, true, true, true}))
      << "a host that agrees is enough, and a link's name is told by its begin";
}

// The span that the snapshot was made for says which process was held.
TEST_F(SteppedTest, WithoutAHostNothingMayContradictTheSpanThatWasRecorded) {
  snapshot::Snapshot snapshot = stepped_snapshot(kPid, kSampleStart, 50 * kMilli);
  snapshot.trigger.trace_id = sample_trace_id(1);
  snapshot.trigger.span_id = sample_span_id(1);
  add_trace(1, {.more = {{"service.instance.id", "a"}, {"service.namespace", "eu"}}});
  add_trace(2, {.host = nullptr});
  add_trace(3, {.host = nullptr, .more = {{"service.instance.id", "a"}}});
  add_trace(4, {.host = nullptr, .more = {{"service.instance.id", "b"}}});
  add_trace(5, {.host = nullptr, .more = {{"service.namespace", "us"}}});
  add_trace(6, {.pid = kPid + 1, .host = nullptr, .more = {{"service.instance.id", "a"}}});
  add_snapshot(snapshot);
  EXPECT_EQ(marks(), (std::vector<bool>{true, true, true, false, false, false}));
}

// Two containers, each of whose only process is its first one.
TEST_F(SteppedTest, OfFirstProcessesSomethingMustAgree) {
  snapshot::Snapshot snapshot = stepped_snapshot(1, kSampleStart, 50 * kMilli);
  snapshot.trigger.trace_id = sample_trace_id(1);
  snapshot.trigger.span_id = sample_span_id(1);
  add_trace(1, {.pid = 1, .host = nullptr, .more = {{"container.id", "c1"}}});
  add_trace(2, {.pid = 1, .host = nullptr});
  add_trace(3, {.pid = 1, .host = nullptr, .more = {{"container.id", "c2"}}});
  add_trace(4, {.pid = 1, .host = nullptr, .more = {{"container.id", "c1"}}});
  add_trace(5, {.pid = 1});
  add_snapshot(snapshot);
  EXPECT_EQ(marks(), (std::vector<bool>{true, false, false, true, true}));
  auto document = run_trace(stores(), sample_trace_id(3), budget_);
  ASSERT_TRUE(document.ok());
  EXPECT_EQ(document->find("\"stepped\""), std::string::npos);
}

// Where the request's spans are not stored, or none was recorded, nothing agrees.
TEST_F(SteppedTest, AFirstProcessOfWhichNothingIsKnownIsNobodys) {
  add_trace(1, {.pid = 1, .host = nullptr});
  add_trace(2, {.pid = 1});
  add_snapshot(stepped_snapshot(1, kSampleStart, 50 * kMilli));
  EXPECT_EQ(marks(), (std::vector<bool>{false, true}));
}

TEST_F(SteppedTest, ProgramsAreRememberedWhereTheyAreFew) {
  snapshot::Snapshot snapshot = stepped_snapshot(kPid, kSampleStart, 1);
  for (uint32_t n = 0; n < kMostPrograms; ++n) {
    snapshot.sideband.push_back({.kind = snapshot::SidebandKind::kMap, .tsc = 1, .pid = kPid, .image = n});
    snapshot.images.resize(n + 2, snapshot.images[0]);
    snapshot.images[n + 1].name = "/usr/bin/tool-" + std::to_string(n) + " (deleted)";
  }
  auto summary = summarize({}, snapshot);
  ASSERT_TRUE(summary.ok());
  ASSERT_EQ(summary->programs[kPid].size(), kMostPrograms);
  EXPECT_EQ(summary->programs[kPid].front(), "shop");
  EXPECT_EQ(summary->programs[kPid].back(), "tool-6");
  EXPECT_GT(summary->memory_bytes(), summarize({}, stepped_snapshot(kPid, kSampleStart, 1))->memory_bytes());
  snapshot.sideband.push_back({.kind = snapshot::SidebandKind::kMap, .tsc = 1, .pid = kPid, .image = kMostPrograms});
  EXPECT_TRUE(summarize({}, snapshot)->programs.empty()) << "what is not all is nothing to contradict by";
  snapshot.sideband.push_back({.kind = snapshot::SidebandKind::kMap, .tsc = 1, .pid = kPid, .image = UINT32_MAX - 1});
  EXPECT_TRUE(summarize({}, snapshot).ok());
}

// A stranger wrote it: what is remembered is bounded, and covers them all.
TEST_F(SteppedTest, ManyWindowsAreRememberedAsFew) {
  snapshot::Snapshot snapshot;
  for (uint64_t n = 0; n < 1000; ++n) {
    snapshot.sideband.push_back(
        {.kind = snapshot::SidebandKind::kStepped, .tsc = n, .pid = kPid, .address = n * 10, .length = 5});
  }
  snapshot.sideband.back().length = UINT64_MAX;
  auto summary = summarize({}, snapshot);
  ASSERT_TRUE(summary.ok());
  ASSERT_EQ(summary->stepped.size(), kMostSteppedWindows);
  EXPECT_EQ(summary->stepped.front(), (SteppedWindow{kPid, 0, 5}));
  EXPECT_EQ(summary->stepped.back(), (SteppedWindow{kPid, 630, UINT64_MAX}));
}

}  // namespace
}  // namespace fathom::query
