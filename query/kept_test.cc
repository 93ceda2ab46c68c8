// The slowest requests of which something was kept: the rows of the whole list, without those of which nothing was.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>

#include "base/time.h"
#include "net/uri.h"
#include "query.pb.h"
#include "query/proto_convert.h"
#include "query/routes.h"
#include "query/testing/sample_snapshots.h"
#include "query/testing/sample_store.h"
#include "store/model/memory_captures.h"

namespace fathom::query {
namespace {

using testing::kSampleStart;
using testing::kTraces;
using testing::sample_trace_id;
using Numbers = std::set<uint64_t>;

const Numbers kCaptured{3, 10, 20};
const Numbers kRecorded{10, 25};
const Numbers kEither{3, 10, 20, 25};

class KeptTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (uint64_t n : kCaptured) add_capture(n);
    add_capture(200);  // of a trace whose spans never came
    for (uint64_t n : kRecorded) add_snapshot(n);
  }
  void add_capture(uint64_t n) {
    store::CaptureInfo info;
    info.id.bytes[0] = static_cast<uint8_t>(1 + n);
    info.trace_id = sample_trace_id(n);
    info.node_id.bytes[0] = 1;
    auto writer = captures_.begin(info);
    ASSERT_TRUE(writer.ok());
    ASSERT_EQ((*writer)->finish().outcome, store::AppendOutcome::kDurable);
  }
  void add_snapshot(uint64_t n) {
    snapshot::Snapshot snapshot = testing::numbered_snapshot(n);
    snapshot.trigger.trace_id = sample_trace_id(n);
    ASSERT_TRUE(snapshots_.upload(testing::made_snapshot(snapshot)).ok());
  }
  Stores stores() { return {spans_, &captures_, &snapshots_.store()}; }

  Result<std::string> ask_of(const Stores& stores, const std::string& parameters) {
    auto parsed = net::parse_target("/api/v1/slowest?" + parameters);
    if (!parsed) return parsed.error();
    net::HttpRequest request;
    request.path = parsed->path;
    request.query = parsed->query;
    auto routed = route(request, kSampleStart + kNanosPerMinute, kNanosPerMinute);
    if (!routed) return routed.error();
    store::QueryBudget budget;
    return routed->work(stores, budget);
  }
  boost::json::object answer(const std::string& parameters) {
    auto body = ask_of(stores(), parameters);
    EXPECT_TRUE(body.ok()) << parameters << ": " << (body.ok() ? "" : body.error().message);
    return body.ok() ? boost::json::parse(*body).as_object() : boost::json::object{};
  }
  boost::json::array rows(const std::string& parameters) {
    return answer("limit=1000&" + parameters)["rows"].as_array();
  }

  // What the whole list has of these traces.
  boost::json::array of(const Numbers& numbers, const std::string& parameters) {
    std::set<std::string> ids;
    for (uint64_t n : numbers) ids.insert(sample_trace_id(n).hex());
    boost::json::array found;
    for (const auto& row : rows(parameters)) {
      if (ids.contains(std::string(row.at("trace_id").as_string()))) found.push_back(row);
    }
    return found;
  }

  testing::SampleStore spans_;
  store::MemoryCaptures captures_;
  testing::SampleSnapshots snapshots_;
};

TEST_F(KeptTest, RowsAreThoseOfTheWholeList) {
  ASSERT_EQ(of(kCaptured, "").size(), 3u);
  for (const std::string filter : {"", "&by=span", "&service=catalog", "&service=catalog&errors", "&where=tier=gold",
                                   "&min_duration=210ms", "&max_duration=110ms&by=span", "&operation=lookup&by=span",
                                   "&from=2026-11-21T00:30:05Z&to=2026-11-21T00:30:21Z"}) {
    EXPECT_EQ(rows("kept=captured" + filter), of(kCaptured, filter)) << filter;
    EXPECT_EQ(rows("kept=recorded" + filter), of(kRecorded, filter)) << filter;
    EXPECT_EQ(rows("kept=any" + filter), of(kEither, filter)) << filter;
  }
  EXPECT_EQ(rows("kept=captured")[0].at("captures").as_int64(), 1);
  EXPECT_EQ(rows("").size(), kTraces);
}

TEST_F(KeptTest, TheyComeInPages) {
  boost::json::array joined;
  std::string cursor;
  size_t pages = 0;
  do {
    auto page = answer("kept=any&limit=1" + (cursor.empty() ? "" : "&cursor=" + cursor));
    for (const auto& row : page["rows"].as_array()) joined.push_back(row);
    cursor = std::string(page["next_cursor"].as_string());
    ++pages;
  } while (!cursor.empty() && pages < 10);
  EXPECT_EQ(pages, kEither.size());
  EXPECT_EQ(joined, of(kEither, ""));
}

// A cursor of the whole list would begin somewhere else.
TEST_F(KeptTest, ACursorBelongsToWhatMustHaveBeenKept) {
  const std::string cursor(answer("limit=1")["next_cursor"].as_string());
  ASSERT_TRUE(ask_of(stores(), "limit=1&cursor=" + cursor).ok());
  auto other = ask_of(stores(), "limit=1&kept=any&cursor=" + cursor);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::kInvalid);
}

TEST_F(KeptTest, WhereNothingIsKeptThereIsNothing) {
  for (const char* kept : {"captured", "recorded", "any"}) {
    auto body = ask_of(spans_, std::string("kept=") + kept);
    ASSERT_TRUE(body.ok());
    EXPECT_EQ(boost::json::parse(*body).at("rows").as_array().size(), 0u) << kept;
  }
}

TEST_F(KeptTest, OtherWordsAreRefused) {
  auto body = ask_of(stores(), "kept=all");
  ASSERT_FALSE(body.ok());
  EXPECT_EQ(body.error().message, "'kept' must be captured, recorded or any");
}

TEST_F(KeptTest, OverGrpc) {
  v1::SlowestRequest request;
  request.mutable_range()->set_from_unix_nano(kSampleStart);
  request.mutable_range()->set_to_unix_nano(kSampleStart + kNanosPerMinute);
  for (const auto& [kept, numbers] : {std::pair{v1::KEPT_NO_MATTER, kTraces},
                                      {v1::KEPT_CAPTURED, kCaptured.size()},
                                      {v1::KEPT_RECORDED, kRecorded.size()},
                                      {v1::KEPT_ANY, kEither.size()}}) {
    request.set_kept(kept);
    request.set_limit(1000);
    auto query = query_of(request, kSampleStart);
    ASSERT_TRUE(query.ok());
    store::QueryBudget budget;
    auto found = run_slowest(stores(), *query, budget);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->rows.size(), numbers) << kept;
  }
  request.set_kept(static_cast<v1::Kept>(9));
  EXPECT_EQ(query_of(request, kSampleStart).error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace fathom::query
