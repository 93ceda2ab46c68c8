#include "store/rocks/grown.h"

#include <gtest/gtest.h>

namespace fathom::store {
namespace {

TraceId trace_id(uint8_t number) {
  TraceId id;
  id.bytes[0] = number;
  return id;
}

GrownTraces some() {
  GrownTraces grown;
  TraceSummary summary;
  summary.spans = 7;
  summary.grown = true;
  std::vector<OlderPlace> places = {{1, 2, {3, 4, 5}}, {UINT32_MAX, 5, {6, 0, 1}}};
  grown.add(trace_id(1), summary, places);
  grown.add(trace_id(9), summary, {});
  return grown;
}

TEST(Grown, RoundTrip) {
  Result<GrownTraces> read = GrownTraces::decode(some().encode());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(read->places_known());
  ASSERT_EQ(read->traces().size(), 2u);
  const GrownTrace* first = read->find(trace_id(1));
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->summary.spans, 7u);
  ASSERT_EQ(read->places(*first).size(), 2u);
  EXPECT_EQ(read->places(*first)[0].rows.row_count, 5u);
  EXPECT_EQ(read->places(*first)[1].partition, UINT32_MAX);
  EXPECT_TRUE(read->places(*read->find(trace_id(9))).empty());
  EXPECT_EQ(read->find(trace_id(2)), nullptr);
}

TEST(Grown, VersionOneKnowsNoPlaces) {
  std::string old(1, '\1');
  old.push_back('\1');
  old.append(trace_id(3).view());
  encode_summary(TraceSummary{}, old);
  Result<GrownTraces> read = GrownTraces::decode(old);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_FALSE(read->places_known());
  EXPECT_NE(read->find(trace_id(3)), nullptr);
}

TEST(Grown, DamageIsNoticed) {
  std::string whole = some().encode();
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(GrownTraces::decode(std::string_view(whole).substr(0, size)).error().code, ErrorCode::kCorrupt) << size;
  }
  EXPECT_FALSE(GrownTraces::decode(whole + "x").ok());
  std::string unknown = whole;
  unknown[0] = 3;
  EXPECT_FALSE(GrownTraces::decode(unknown).ok());
}

}  // namespace
}  // namespace fathom::store
