#include "snapshot/format/perf_records.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <string>

#include "snapshot/format/testing/perf_record_builder.h"

namespace fathom::snapshot {
namespace {

constexpr Timing kTiming{.conversion_zero_nano = 1000, .conversion_mult = 1u << 10, .conversion_shift = 11};

PerfSideband row_of(const std::string& bytes) {
  auto record = parse_perf_record(bytes, kTestLayout);
  EXPECT_TRUE(record.ok()) << record.error().message;
  auto row = to_sideband(*record, kTiming);
  EXPECT_TRUE(row.ok()) << row.error().message;
  EXPECT_TRUE(row->has_value());
  return **row;
}

bool says_nothing(const std::string& bytes) {
  auto record = parse_perf_record(bytes, kTestLayout);
  EXPECT_TRUE(record.ok()) << record.error().message;
  auto row = to_sideband(*record, kTiming);
  return row.ok() && !row->has_value();
}

std::string mmap2(uint16_t misc, uint32_t protection, std::string_view identity, uint64_t address = 0x400000) {
  PerfRecordBuilder builder(PERF_RECORD_MMAP2, misc);
  builder.u32(42).u32(43).u64(address).u64(0x2000).u64(0x1000).raw(identity).u32(protection).u32(MAP_PRIVATE);
  return builder.text("/usr/bin/shop").with_id(42, 43, 3000, 1);
}

std::string build_id_of_20() {
  return std::string("\x14\0\0\0", 4) + std::string(20, 'b');
}

TEST(PerfRecords, AMappingHasItsBuildId) {
  const PerfSideband made =
      row_of(mmap2(PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID, PROT_READ | PROT_EXEC, build_id_of_20()));
  EXPECT_EQ(made.row.kind, SidebandKind::kMap);
  EXPECT_EQ(made.row.tsc, 4000u);  // (3000 - 1000) * 2^11 / 2^10
  EXPECT_EQ(made.row.pid, 42);
  EXPECT_EQ(made.row.address, 0x400000u);
  EXPECT_EQ(made.row.length, 0x2000u);
  EXPECT_EQ(made.row.file_offset, 0x1000u);
  EXPECT_EQ(made.row.flags, 0u);
  EXPECT_EQ(made.mapping->file, "/usr/bin/shop");
  EXPECT_EQ(made.mapping->build_id, std::string(20, 'b'));
}

TEST(PerfRecords, AMappingHasItsInode) {
  std::string identity;
  ByteWriter writer(identity);
  writer.u32(8);
  writer.u32(1);
  writer.u64(1234);
  writer.u64(5);
  const PerfSideband made = row_of(mmap2(PERF_RECORD_MISC_USER, PROT_EXEC, identity));
  EXPECT_EQ(made.mapping->device_major, 8u);
  EXPECT_EQ(made.mapping->device_minor, 1u);
  EXPECT_EQ(made.mapping->inode, 1234u);
  EXPECT_TRUE(made.mapping->build_id.empty());
}

TEST(PerfRecords, DataIsNoMapping) {
  EXPECT_TRUE(says_nothing(mmap2(PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_DATA, PROT_READ, build_id_of_20())));
  EXPECT_TRUE(says_nothing(mmap2(PERF_RECORD_MISC_USER, PROT_READ | PROT_WRITE, build_id_of_20())));
}

TEST(PerfRecords, TheKernelsMappingIsOfEverybody) {
  const PerfSideband made = row_of(mmap2(PERF_RECORD_MISC_KERNEL, PROT_EXEC, build_id_of_20(), 0xffffffff81000000));
  EXPECT_EQ(made.row.flags, uint32_t{kFlagKernel});
  EXPECT_EQ(made.row.pid, -1);
}

TEST(PerfRecords, AMappingThatWrapsIsCut) {
  const PerfSideband made = row_of(mmap2(PERF_RECORD_MISC_USER, PROT_EXEC, build_id_of_20(), UINT64_MAX - 5));
  EXPECT_EQ(made.row.length, 5u);
}

TEST(PerfRecords, AnOlderMappingHasOnlyItsName) {
  PerfRecordBuilder builder(PERF_RECORD_MMAP, PERF_RECORD_MISC_USER);
  builder.u32(42).u32(42).u64(0x7000).u64(0x1000).u64(0).text("[vdso]");
  const PerfSideband made = row_of(builder.with_id(42, 42, 1000, 0));
  EXPECT_EQ(made.mapping->file, "[vdso]");
  EXPECT_EQ(made.row.tsc, 0u);
}

TEST(PerfRecords, NamesAndLives) {
  PerfRecordBuilder comm(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
  const Sideband name = row_of(comm.u32(5).u32(6).text("shop").with_id(5, 6, 2000, 3)).row;
  EXPECT_EQ(name.kind, SidebandKind::kName);
  EXPECT_EQ(name.text, "shop");
  EXPECT_EQ(name.flags, uint32_t{kFlagExec});
  EXPECT_EQ(name.cpu, 3);

  PerfRecordBuilder fork(PERF_RECORD_FORK);
  const Sideband born = row_of(fork.u32(9).u32(5).u32(10).u32(6).u64(2000).with_id(5, 6, 2000, 3)).row;
  EXPECT_EQ(born.kind, SidebandKind::kFork);
  EXPECT_EQ(born.pid, 9);
  EXPECT_EQ(born.tid, 10);
  EXPECT_EQ(born.other_pid, 5);
  EXPECT_EQ(born.other_tid, 6);
  EXPECT_EQ(born.tsc, 2000u);

  PerfRecordBuilder exit(PERF_RECORD_EXIT);
  const Sideband dead = row_of(exit.u32(9).u32(5).u32(10).u32(6).u64(2000).with_id(9, 10, 2000, 3)).row;
  EXPECT_EQ(dead.kind, SidebandKind::kExit);
  EXPECT_EQ(dead.tid, 10);
  EXPECT_EQ(dead.other_pid, -1);
}

TEST(PerfRecords, Switches) {
  PerfRecordBuilder out(PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
  const Sideband left = row_of(out.u32(0).u32(0).with_id(5, 6, 2000, 3)).row;
  EXPECT_EQ(left.kind, SidebandKind::kSwitchOut);
  EXPECT_EQ(left.flags, uint32_t{kFlagPreempted});
  EXPECT_EQ(left.tid, 6);
  EXPECT_EQ(left.other_tid, 0);
  const Sideband came = row_of(PerfRecordBuilder(PERF_RECORD_SWITCH).with_id(5, 6, 2000, 3)).row;
  EXPECT_EQ(came.kind, SidebandKind::kSwitchIn);
  EXPECT_EQ(came.other_tid, -1);
}

TEST(PerfRecords, Losses) {
  PerfRecordBuilder lost(PERF_RECORD_LOST);
  const Sideband row = row_of(lost.u64(7).u64(12).with_id(5, 6, 2000, 3)).row;
  EXPECT_EQ(row.kind, SidebandKind::kLost);
  EXPECT_EQ(row.length, 12u);
  PerfRecordBuilder samples(PERF_RECORD_LOST_SAMPLES);
  EXPECT_EQ(row_of(samples.u64(13).with_id(5, 6, 2000, 3)).row.length, 13u);
}

TEST(PerfRecords, AnAuxRecordIsALossOnlyWhenItSaysSo) {
  PerfRecordBuilder fine(PERF_RECORD_AUX);
  EXPECT_TRUE(says_nothing(fine.u64(0).u64(4096).u64(PERF_AUX_FLAG_OVERWRITE).with_id(5, 6, 2000, 3)));
  PerfRecordBuilder cut(PERF_RECORD_AUX);
  const Sideband row = row_of(cut.u64(64).u64(4096).u64(PERF_AUX_FLAG_TRUNCATED).with_id(5, 6, 2000, 3)).row;
  EXPECT_EQ(row.kind, SidebandKind::kAuxLoss);
  EXPECT_EQ(row.flags, uint32_t{kFlagAuxTruncated});
  EXPECT_EQ(row.address, 64u);
}

TEST(PerfRecords, TheKernelsCodeChanges) {
  PerfRecordBuilder symbol(PERF_RECORD_KSYMBOL);
  symbol.u64(0xffffffffc0000000).u32(512).u16(PERF_RECORD_KSYMBOL_TYPE_BPF).u16(PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER);
  const Sideband gone = row_of(symbol.text("bpf_prog_1").with_id(5, 6, 2000, 3)).row;
  EXPECT_EQ(gone.flags, uint32_t{kFlagKernel} | kFlagGone);
  EXPECT_EQ(gone.length, 512u);
  EXPECT_EQ(gone.text, "bpf_prog_1");

  PerfRecordBuilder poke(PERF_RECORD_TEXT_POKE);
  poke.u64(0xffffffff81000000).u16(5).u16(3).raw("oldernew");
  const Sideband poked = row_of(poke.with_id(5, 6, 2000, 3)).row;
  EXPECT_EQ(poked.other_text, "older");
  EXPECT_EQ(poked.text, "new");
}

TEST(PerfRecords, EveryPrefixIsRefusedOrHarmless) {
  const std::string whole = mmap2(PERF_RECORD_MISC_MMAP_BUILD_ID, PROT_EXEC, build_id_of_20());
  for (size_t size = 0; size < whole.size(); ++size) {
    auto record = parse_perf_record(std::string_view(whole).substr(0, size), kTestLayout);
    if (record) (void)to_sideband(*record, kTiming);
  }
  const std::string too_long = PerfRecordBuilder(PERF_RECORD_TEXT_POKE).u64(1).u16(500).u16(3).with_id(1, 1, 1, 1);
  auto poke = parse_perf_record(too_long, kTestLayout);
  EXPECT_EQ(to_sideband(*poke, kTiming).error().message, "a perf record of type 20 ends within its fields");
  EXPECT_FALSE(parse_perf_record(PerfRecordBuilder(PERF_RECORD_SWITCH).bare(), kTestLayout).ok());
}

TEST(PerfRecords, AreSplitByTheirSizes) {
  const std::string one = PerfRecordBuilder(PERF_RECORD_SWITCH).with_id(1, 1, 1, 1);
  const std::string two = one + one;
  EXPECT_EQ(**split_perf_record(two), one);
  EXPECT_FALSE(split_perf_record(std::string_view(one).substr(0, one.size() - 1))->has_value());
  EXPECT_FALSE(split_perf_record(std::string_view(one).substr(0, 7))->has_value());
  EXPECT_FALSE(split_perf_record(std::string(8, '\0')).ok());
}

TEST(PerfRecords, AClockGoesBothWaysAlsoBeforeItsZero) {
  const Timing late{.conversion_zero_nano = uint64_t(-5000), .conversion_mult = 357913941, .conversion_shift = 30};
  for (const uint64_t tsc : {uint64_t{20000}, uint64_t{1} << 40, uint64_t{1} << 50}) {
    EXPECT_NEAR(static_cast<double>(tsc_of_time(late, time_of_tsc(late, tsc))), static_cast<double>(tsc), 4);
  }
  EXPECT_EQ(tsc_of_time({}, 77), 0u);
  EXPECT_EQ(time_of_tsc({}, 77), 0u);
}

}  // namespace
}  // namespace fathom::snapshot
