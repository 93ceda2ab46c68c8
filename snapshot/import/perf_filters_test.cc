#include "snapshot/import/perf_filters.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "snapshot/format/address_filter.h"
#include "snapshot/import/perf_recording.h"
#include "snapshot/import/testing/perf_builder.h"

namespace fathom::snapshot::perf {
namespace {

TEST(PerfFilters, EachRangeIsARow) {
  const AddressFilters filters = parse_address_filters(
      "filter 0x1000/0x40@/bin/shop,filter 4096/64, stop 0x2000/0x10@./shop\ntracestop 0xffffffff81000000/0x100");
  EXPECT_EQ(filters.not_understood, 0u);
  EXPECT_EQ(filters.rows, (std::vector{address_filter_row("/bin/shop", 0x1000, 0x40), address_filter_row("", 4096, 64),
                                       address_filter_row("./shop", 0x2000, 0x10, true),
                                       address_filter_row("", 0xffffffff81000000, 0x100, true)}));
}

TEST(PerfFilters, WhatIsNotUnderstoodIsCounted) {
  for (const char* text : {"start 0x1000@/bin/shop", "start 0x1000/0x10@/bin/shop", "stop 0x1000", "filter",
                           "filter x/1", "filter 0x1/0", "filter 0x1/0x2@", "filter 0x2/0xffffffffffffffff",
                           "filter 0x1/0x2x", "filter 0x/1", "what 1/2", "filter 0x11111111111111111/1"}) {
    const AddressFilters filters = parse_address_filters(text);
    EXPECT_EQ(filters.not_understood, 1u) << text;
    EXPECT_TRUE(filters.rows.empty()) << text;
  }
  const AddressFilters many = parse_address_filters("filter 1/1,filter 2/1,filter 3/1,filter 4/1,filter 5/1");
  EXPECT_EQ(many.rows.size(), 4u);
  EXPECT_EQ(many.not_understood, 1u);
  EXPECT_TRUE(parse_address_filters("").rows.empty());
  EXPECT_TRUE(parse_address_filters(" , ").rows.empty());
}

// AUXTRACE_INFO with this text, of which it says that it has so many bytes; and what a later version put behind.
Result<PerfRecording> recorded_with(std::string text, uint64_t said_bytes) {
  PerfBuilder builder;
  std::string info = PerfBuilder().info().records().substr(kRecordHeaderBytes);
  info.resize(info.size() - 8);
  ByteWriter(info).u64(said_bytes);
  text.resize((text.size() + 8) & ~size_t{7});
  builder.record(kAuxtraceInfo, 0, info + text + "12345678");
  builder.map2({}, 0x1000, 0x2000, 0x3000, "/bin/a").packets(2, -1, 0, test_packets(1, 1));
  return read_perf_data(test_input(builder.file()));
}

TEST(PerfFilters, AreReadFromTheRecording) {
  const std::string text = "filter 0x1000/0x40@/bin/shop";
  auto recording = recorded_with(text, text.size());
  ASSERT_TRUE(recording);
  ASSERT_EQ(recording->snapshot.sideband.size(), 2u);
  EXPECT_EQ(recording->snapshot.sideband[1], address_filter_row("/bin/shop", 0x1000, 0x40));
  EXPECT_TRUE(recording->snapshot.losses.empty());
  recording = recorded_with(text, 1000);
  ASSERT_TRUE(recording);
  EXPECT_EQ(recording->snapshot.losses.at(0).name, "address filters of the recording that are damaged");
  recording = recorded_with("filter f", 8);
  ASSERT_TRUE(recording);
  EXPECT_EQ(recording->snapshot.losses.at(0).name, "address filters of the recording that are not understood");
}

}  // namespace
}  // namespace fathom::snapshot::perf
