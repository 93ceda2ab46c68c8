#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/bytes.h"
#include "snapshot/import/perf_recording.h"
#include "snapshot/import/testing/perf_builder.h"

namespace fathom::snapshot::perf {
namespace {

std::string words(std::initializer_list<uint32_t> values) {
  std::string bytes;
  for (uint32_t value : values) ByteWriter(bytes).u32(value);
  return bytes;
}

std::string longs(std::initializer_list<uint64_t> values) {
  std::string bytes;
  for (uint64_t value : values) ByteWriter(bytes).u64(value);
  return bytes;
}

Result<PerfRecording> read(const std::string& content) {
  return read_perf_data(test_input(content));
}

PerfBuilder whole() {
  PerfBuilder builder;
  builder.feature(kBuildIdFeature, PerfBuilder::build_id_entry(std::string(20, 'b'), "/bin/b") +
                                       PerfBuilder::build_id_entry(std::string(16, 'x'), "/bin/a"));
  builder.feature(kHostnameFeature, PerfBuilder::header_string("elsewhere"));
  builder.feature(kCpuidFeature, PerfBuilder::header_string("GenuineIntel,6,142,10"));
  builder.feature(kCmdlineFeature,
                  words({2}) + PerfBuilder::header_string("perf") + PerfBuilder::header_string("record"));
  builder.info();
  builder.map2({}, 0x1000, 0x2000, 0x3000, "/bin/a", std::string(20, 'a'));
  builder.map2({.nano = kTestZero + 20}, 0x5000, 0x1000, 0, "/bin/b");
  builder.kernel_record(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC,
                        words({100, 101}) + std::string("name\0\0\0\0", 8), {.nano = kTestZero + 40});
  builder.kernel_record(PERF_RECORD_FORK, 0, words({200, 100, 201, 101}) + longs({kTestZero + 60}),
                        {.nano = kTestZero + 60});
  builder.kernel_record(PERF_RECORD_EXIT, 0, words({200, 100, 201, 101}) + longs({kTestZero + 80}),
                        {.nano = kTestZero + 80});
  builder.kernel_record(PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
                        words({300, 301}), {.nano = kTestZero + 100});
  builder.kernel_record(PERF_RECORD_SWITCH, 0, "", {.pid = 300, .tid = 301, .nano = kTestZero + 120});
  builder.kernel_record(PERF_RECORD_ITRACE_START, 0, words({100, 101}), {.nano = kTestZero + 140});
  builder.kernel_record(PERF_RECORD_AUX, 0, longs({0, 64, PERF_AUX_FLAG_TRUNCATED}), {.nano = kTestZero + 160});
  builder.kernel_record(PERF_RECORD_AUX, 0, longs({64, 64, PERF_AUX_FLAG_OVERWRITE}), {.nano = kTestZero + 170});
  builder.kernel_record(PERF_RECORD_LOST, 0, longs({kTestEventId, 5}), {.nano = kTestZero + 180});
  builder.kernel_record(PERF_RECORD_LOST_SAMPLES, 0, longs({6}), {.nano = kTestZero + 190});
  builder.kernel_record(PERF_RECORD_KSYMBOL, 0,
                        longs({0xffffffffc0000000}) + words({64, 1 | 1U << 16}) + std::string("bpf_x\0\0\0", 8),
                        {.nano = kTestZero + 200});
  builder.kernel_record(PERF_RECORD_TEXT_POKE, 0,
                        longs({0xffffffff81000000}) + words({5 | 5U << 16}) + "oldddnewww\0\0",
                        {.nano = kTestZero + 220});
  builder.kernel_record(PERF_RECORD_NAMESPACES, 0, words({100, 101}) + longs({0}), {.nano = kTestZero + 240});
  builder.record(kFinishedRound, 0, "");
  builder.packets(2, -1, 0, test_packets(1, 2));
  builder.packets(-1, 101, 0, test_packets(2, 1));
  return builder;
}

void expect_whole(const PerfRecording& recording) {
  const Snapshot& snapshot = recording.snapshot;
  EXPECT_EQ(snapshot.host, "elsewhere");
  EXPECT_EQ(snapshot.command, "perf record");
  EXPECT_EQ(snapshot.cpu, (Cpu{true, 6, 142, 10}));
  EXPECT_EQ(snapshot.timing, (Timing{3, 28, 2, 168, kTestZero, 4, 1}));
  ASSERT_EQ(snapshot.images.size(), 2u);
  EXPECT_EQ(snapshot.images[0].build_id, std::string(20, 'a')) << "the record knows better than the table";
  EXPECT_EQ(snapshot.images[1].build_id, std::string(20, 'b'));
  using Kind = SidebandKind;
  std::vector<Kind> kinds;
  std::vector<uint64_t> times;
  for (const Sideband& row : snapshot.sideband) {
    kinds.push_back(row.kind);
    times.push_back(row.tsc);
  }
  EXPECT_EQ(kinds, (std::vector{Kind::kMap, Kind::kMap, Kind::kName, Kind::kFork, Kind::kExit, Kind::kSwitchOut,
                                Kind::kSwitchIn, Kind::kTraceStart, Kind::kAuxLoss, Kind::kLost, Kind::kKernelSymbol,
                                Kind::kTextPoke}));
  EXPECT_EQ(times, (std::vector<uint64_t>{0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110}));
}

TEST(PerfRecording, EveryRecordBecomesItsRow) {
  for (const std::string& content : {whole().file(), whole().pipe()}) {
    auto recording = read(content);
    ASSERT_TRUE(recording) << recording.error().message;
    expect_whole(*recording);
    const auto& rows = recording->snapshot.sideband;
    Sideband map;
    map.pid = 100;
    map.tid = 101;
    map.cpu = 0;
    map.address = 0x1000;
    map.length = 0x2000;
    map.file_offset = 0x3000;
    map.image = 0;
    EXPECT_EQ(rows[0], map);
    EXPECT_EQ(rows[2].text, "name");
    EXPECT_EQ(rows[2].flags, static_cast<uint32_t>(kFlagExec));
    EXPECT_EQ(rows[3].pid, 200);
    EXPECT_EQ(rows[3].other_tid, 101);
    EXPECT_EQ(rows[5].flags, static_cast<uint32_t>(kFlagPreempted));
    EXPECT_EQ(rows[5].tid, 101);
    EXPECT_EQ(rows[5].cpu, 2);
    EXPECT_EQ(rows[5].other_tid, 301);
    EXPECT_EQ(rows[6].other_tid, -1);
    EXPECT_EQ(rows[6].tid, 301);
    EXPECT_EQ(rows[8].flags, static_cast<uint32_t>(kFlagAuxTruncated));
    EXPECT_EQ(rows[9].length, 5u);
    EXPECT_EQ(rows[10].text, "bpf_x");
    EXPECT_EQ(rows[10].flags, static_cast<uint32_t>(kFlagKernel | kFlagGone));
    EXPECT_EQ(rows[11].text, "newww");
    EXPECT_EQ(rows[11].other_text, "olddd");
  }
}

TEST(PerfRecording, StreamsAndLosses) {
  auto recording = read(whole().file());
  ASSERT_TRUE(recording);
  const Snapshot& snapshot = recording->snapshot;
  ASSERT_EQ(snapshot.streams.size(), 2u);
  EXPECT_EQ(snapshot.streams[0], (Stream{2, -1, -1, {}}));
  EXPECT_EQ(snapshot.streams[1], (Stream{-1, 100, 101, {}}));
  ASSERT_EQ(recording->chunks.size(), 2u);
  EXPECT_EQ(recording->chunks[1].stream, 1u);
  EXPECT_EQ(loss_count(snapshot, "perf.data records not used: NAMESPACES"), 1u);
  EXPECT_EQ(loss_count(snapshot, "packets lost by the recording"), 1u);
  EXPECT_EQ(loss_count(snapshot, "records about processes that the kernel lost"), 5u);
  EXPECT_EQ(loss_count(snapshot, "samples that the kernel lost"), 6u);
  EXPECT_EQ(snapshot.losses.size(), 4u);
}

// Programs of the kernel that came and went: their code is in KSYMBOL and TEXT_POKE, and what is not used is counted.
TEST(PerfRecording, BpfEventsAreCountedByName) {
  PerfBuilder builder = whole();
  // Type (loaded, unloaded), flags, the program's number and tag.
  const std::string loaded = words({PERF_BPF_EVENT_PROG_LOAD, 17}) + longs({0x1122334455667788});
  const std::string unloaded = words({PERF_BPF_EVENT_PROG_UNLOAD, 17}) + longs({0x1122334455667788});
  builder.kernel_record(PERF_RECORD_BPF_EVENT, 0, loaded, {.nano = kTestZero + 230});
  builder.kernel_record(PERF_RECORD_BPF_EVENT, 0, unloaded, {.nano = kTestZero + 240});
  for (const std::string& content : {builder.file(), builder.pipe()}) {
    auto recording = read(content);
    ASSERT_TRUE(recording) << recording.error().message;
    expect_whole(*recording);
    EXPECT_EQ(loss_count(recording->snapshot, "perf.data records not used: BPF_EVENT"), 2u);
    for (const Loss& one : recording->snapshot.losses) {
      EXPECT_TRUE(one.name.find("BPF_EVENT") == std::string::npos || !one.is_loss());
    }
  }
}

TEST(PerfRecording, WithoutAClockOnlyWhatHoldsFromTheBeginningIsKept) {
  PerfBuilder builder;
  builder.info(false, false);
  builder.map2({.nano = kTestZero + 20}, 0x5000, 0x1000, 0, "/bin/b");
  builder.kernel_record(PERF_RECORD_SWITCH, 0, "", {.nano = kTestZero + 120});
  builder.packets(2, -1, 0, test_packets(1, 1));
  auto recording = read(builder.file());
  ASSERT_TRUE(recording);
  ASSERT_EQ(recording->snapshot.sideband.size(), 1u);
  EXPECT_EQ(recording->snapshot.sideband[0].tsc, 0u);
  EXPECT_EQ(loss_count(recording->snapshot, "switches of threads without a clock that packets have, too"), 1u);
  const std::string time_conv = longs({1, 4, kTestZero});
  builder.record(kTimeConv, 0, time_conv);
  recording = read(builder.file());
  ASSERT_TRUE(recording);
  EXPECT_EQ(recording->snapshot.sideband.size(), 2u) << "TIME_CONV is as good";
}

TEST(PerfRecording, TheKernelsPlace) {
  PerfBuilder builder;
  builder.info();
  const std::string place = words({UINT32_MAX, 0}) + longs({0xffffffffb9600000, 0x1000000, 0xffffffffb9600000});
  builder.kernel_record(PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL, place + "[kernel.kallsyms]_text\0\0", {});
  builder.packets(2, -1, 0, test_packets(1, 1));
  auto recording = read(builder.file());
  ASSERT_TRUE(recording);
  EXPECT_EQ(recording->kernel.text_address, 0xffffffffb9600000u);
  ASSERT_EQ(recording->snapshot.images.size(), 1u);
  EXPECT_EQ(recording->snapshot.images[0].name, kKernelImage);
  EXPECT_EQ(recording->snapshot.sideband.at(0).flags, static_cast<uint32_t>(kFlagKernel));
}

TEST(PerfRecording, RefusesByName) {
  auto message = [](const std::string& content) {
    auto recording = read(content);
    return recording ? std::string("read") : recording.error().message;
  };
  EXPECT_NE(message("").find("no perf.data"), std::string::npos);
  EXPECT_NE(message(std::string(200, 'x')).find("no perf.data"), std::string::npos);
  EXPECT_NE(message("2ELIFREP" + std::string(200, '\0')).find("other byte order"), std::string::npos);
  PerfBuilder none;
  none.record(kFinishedRound, 0, "");
  EXPECT_NE(message(none.file()).find("perf record -e intel_pt//"), std::string::npos);
  PerfBuilder arm;
  arm.record(kAuxtraceInfo, 0, longs({4, 0}));
  EXPECT_NE(message(arm.file()).find("Arm SPE"), std::string::npos);
  PerfBuilder empty;
  empty.info();
  EXPECT_NE(message(empty.file()).find("no packets"), std::string::npos);
  empty.feature(kDirectoryFeature, longs({1}));
  EXPECT_NE(message(empty.file()).find("import the directory"), std::string::npos);
}

TEST(PerfRecording, EveryPrefixIsReadOrRefused) {
  const std::string content = whole().file();
  size_t read_ones = 0;
  for (size_t size = 0; size < content.size(); ++size) {
    auto recording = read(content.substr(0, size));
    if (!recording) continue;
    ++read_ones;
    EXPECT_GT(recording->snapshot.losses.size(), 0u) << size;
    for (const PacketChunk& chunk : recording->chunks) EXPECT_LE(chunk.file_offset + chunk.bytes, size);
  }
  EXPECT_GT(read_ones, 100u);
}

uint64_t named_losses(const Snapshot& snapshot) {
  return static_cast<uint64_t>(std::ranges::count_if(snapshot.losses, [](const Loss& one) { return one.is_loss(); }));
}

// All that is known of what is missing: the records' bytes, and how many parts of the header stood behind them.
TEST(PerfRecording, WhatIsCutOffIsCountedExactly) {
  const PerfBuilder builder = whole();
  const std::string file = builder.file(), pipe = builder.pipe();
  const uint64_t records_end = file.find(builder.records()) + builder.records().size();
  const uint64_t losses_of_whole = named_losses(read(file)->snapshot);
  for (const uint64_t cut : {1, 7, 100, 131, 300}) {
    auto recording = read(file.substr(0, records_end - cut));
    ASSERT_TRUE(recording) << recording.error().message;
    EXPECT_EQ(loss_count(recording->snapshot, kBytesMissing), cut);
    EXPECT_EQ(loss_count(recording->snapshot, "parts of the perf.data's header that are missing"), 4u);
  }
  for (const uint64_t cut : {1, 7, 100}) {
    auto recording = read(pipe.substr(0, pipe.size() - cut));
    ASSERT_TRUE(recording) << recording.error().message;
    EXPECT_EQ(loss_count(recording->snapshot, kBytesMissing), cut) << "as the last record says, of itself";
  }
  auto behind = read(file.substr(0, file.size() - 1));
  EXPECT_EQ(loss_count(behind->snapshot, kBytesMissing), 0u);
  EXPECT_EQ(loss_count(behind->snapshot, "parts of the perf.data's header that are missing"), 1u);
  EXPECT_EQ(named_losses(behind->snapshot), losses_of_whole + 1);
}

// Within a record, and not in its data.
TEST(PerfRecording, WhatIsLeftOfACutRecordIsCountedToo) {
  PerfBuilder builder = whole();
  const uint64_t last = builder.records().size();
  builder.map2({}, 0x9000, 0x1000, 0, "/bin/last");
  const std::string file = builder.file();
  const uint64_t begin = file.find(builder.records());
  const uint64_t bytes = builder.records().size() - last;
  for (const uint64_t there : {uint64_t{1}, uint64_t{8}, bytes - 1}) {
    auto recording = read(file.substr(0, begin + last + there));
    ASSERT_TRUE(recording) << recording.error().message;
    EXPECT_EQ(loss_count(recording->snapshot, kBytesMissing), bytes - there);
    EXPECT_EQ(loss_count(recording->snapshot, "bytes of records that the end of the perf.data cuts"), there);
  }
}

// Nothing is missing of a file that is as long as its header says.
TEST(PerfRecording, ARecordThatGoesOnBehindTheEndIsDamaged) {
  PerfBuilder builder = whole();
  builder.raw(std::string("\x05\0\0\0\0\0\xff\xff", 8));
  auto recording = read(builder.file());
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_EQ(loss_count(recording->snapshot, kBytesMissing), 0u);
  EXPECT_EQ(loss_count(recording->snapshot, "bytes behind a damaged record of the perf.data"), 8u);
}

TEST(PerfRecording, WhatIsCutBeforeItsPacketsIsSaidToBe) {
  PerfBuilder builder;
  builder.info();
  const uint64_t without = builder.records().size();
  builder.packets(2, -1, 0, test_packets(1, 1));
  const std::string file = builder.file();
  const uint64_t begin = file.find(builder.records());
  for (const uint64_t there : {uint64_t{0}, without, without + 8}) {
    auto refused = read(file.substr(0, begin + there));
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("is cut short: "), std::string::npos) << refused.error().message;
    EXPECT_NE(refused.error().message.find(std::to_string(builder.records().size() - there) + " bytes are missing"),
              std::string::npos)
        << refused.error().message;
  }
}

TEST(PerfRecording, FlippedBitsDoNoHarm) {
  const std::string content = whole().file();
  for (size_t at = 0; at < content.size(); ++at) {
    for (int bit : {0, 3, 7}) {
      std::string damaged = content;
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
      auto recording = read(damaged);
      if (!recording) continue;
      for (const PacketChunk& chunk : recording->chunks) EXPECT_LE(chunk.file_offset + chunk.bytes, content.size());
    }
  }
}

}  // namespace
}  // namespace fathom::snapshot::perf
