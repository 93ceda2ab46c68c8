#include "snapshot/record/pt/record_ring.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "snapshot/format/testing/perf_record_builder.h"
#include "snapshot/record/testing/scripted_perf.h"

namespace fathom::snapshot {
namespace {

class RecordRingTest : public testing::Test {
 protected:
  void SetUp() override {
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_DUMMY;
    event_ = system_.open(attributes, -1, 0, -1);
    auto mapped = RecordRing::map(system_, event_, 4096);
    ASSERT_TRUE(mapped.ok());
    ring_ = *std::move(mapped);
    system_.control(event_, PERF_EVENT_IOC_ENABLE, 0);
  }
  static std::string comm(const std::string& name) {
    return PerfRecordBuilder(PERF_RECORD_COMM).u32(1).u32(2).text(name).with_id(1, 2, 3, 0);
  }
  std::vector<std::string> drained() {
    std::vector<std::string> records;
    EXPECT_TRUE(ring_.drain([&](std::string_view record) { records.emplace_back(record); }).ok());
    return records;
  }
  perf_event_mmap_page& page() { return ring_.page(); }

  ScriptedPerf system_;
  int event_ = -1;
  RecordRing ring_;
};

TEST_F(RecordRingTest, RecordsComeInOrderAroundTheEnd) {
  std::mt19937 random(5);
  std::vector<std::string> written;
  std::vector<std::string> read;
  for (int round = 0; round < 2000; ++round) {
    for (uint32_t i = random() % 10; i > 0; --i) {
      written.push_back(comm(std::string(random() % 200, static_cast<char>('a' + random() % 26))));
      system_.write_record(0, written.back());
    }
    for (std::string& record : drained()) read.push_back(std::move(record));
    EXPECT_TRUE(ring_.empty());
  }
  EXPECT_EQ(read, written);
}

TEST_F(RecordRingTest, WhatFindsNoRoomIsSaid) {
  for (int i = 0; i < 100; ++i) system_.write_record(0, comm(std::string(100, 'x')));
  const size_t fitted = drained().size();
  system_.write_record(0, comm("again"));
  const auto records = drained();
  ASSERT_EQ(records.size(), 2u);
  auto lost = to_sideband(*parse_perf_record(records[0], kTestLayout), {});
  ASSERT_TRUE(lost.ok());
  EXPECT_EQ((*lost)->row.kind, SidebandKind::kLost);
  EXPECT_EQ((*lost)->row.length, 100 - fitted);
}

TEST_F(RecordRingTest, ADamagedRingIsEmptiedAndGoesOn) {
  system_.write_record(0, std::string(8, '\0'));
  EXPECT_FALSE(ring_.drain([](std::string_view) {}).ok());
  page().data_head += 5;
  EXPECT_FALSE(ring_.drain([](std::string_view) {}).ok());
  page().data_head += 1 << 20;
  EXPECT_FALSE(ring_.drain([](std::string_view) {}).ok());
  system_.write_record(0, comm("good"));
  EXPECT_EQ(drained().size(), 1u);
}

TEST_F(RecordRingTest, TheConversionIsThatOfThePage) {
  EXPECT_EQ(ring_.conversion().conversion_shift, 31);
  page().cap_user_time_zero = 0;
  EXPECT_EQ(ring_.conversion(), Timing{});
}

}  // namespace
}  // namespace fathom::snapshot
