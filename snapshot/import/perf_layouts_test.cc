// The layouts of a recording beside the plain one: records that are compressed, in several files, packets in samples.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <random>

#include "base/bytes.h"
#include "snapshot/format/snapshot_file.h"
#include "snapshot/import/perf_aux_samples.h"
#include "snapshot/import/perf_packets.h"
#include "snapshot/import/perf_recording.h"
#include "snapshot/import/testing/packets.h"
#include "snapshot/import/testing/perf_builder.h"

namespace fathom::snapshot::perf {
namespace {

constexpr uint64_t kSampleType = kTestSampleType | PERF_SAMPLE_AUX;

// What a recording comes to, with its packets.
SnapshotFile written(const PerfInput& input) {
  auto recording = read_perf_data(input);
  EXPECT_TRUE(recording) << recording.error().message;
  PerfInput memory = test_input("");
  Fd again(::fcntl(memory.data.get(), F_DUPFD_CLOEXEC, 0));
  auto writer = SnapshotWriter::begin(std::move(memory.data));
  EXPECT_TRUE(copy_chunks(input, *recording, *writer));
  EXPECT_TRUE(writer->finish(recording->snapshot));
  return *SnapshotFile::open(std::move(again));
}

std::string bytes_of(const SnapshotFile& file, size_t stream) {
  const auto bytes = stream_bytes(file, file.snapshot().streams.at(stream));
  return {bytes.begin(), bytes.end()};
}

void add_history(PerfBuilder& builder, size_t switches) {
  builder.map2({}, 0x1000, 0x2000, 0x3000, "/bin/a", std::string(20, 'a'));
  for (size_t i = 1; i <= switches; ++i) {
    builder.kernel_record(PERF_RECORD_SWITCH, i % 2 == 0 ? PERF_RECORD_MISC_SWITCH_OUT : 0, "",
                          {.nano = kTestZero + 2 * i});
  }
}

TEST(PerfLayouts, CompressedRecordsAreThoseThatWereCompressed) {
  PerfBuilder plain;
  plain.info();
  const size_t begin = plain.records().size();
  add_history(plain, 5000);
  for (uint32_t type : {kCompressed, kCompressed2}) {
    // Pieces that end within records, and with them; and one that is larger than what is unpacked at a time.
    for (size_t piece_bytes : {7, 40, 1000, 250'000}) {
      PerfBuilder packed = plain;
      packed.compress(begin, piece_bytes, type).packets(2, -1, 0, test_packets(1, 2));
      PerfBuilder same = plain;
      same.packets(2, -1, 0, test_packets(1, 2));
      for (bool pipe : {false, true}) {
        const SnapshotFile expected = written(test_input(pipe ? same.pipe() : same.file()));
        const SnapshotFile file = written(test_input(pipe ? packed.pipe() : packed.file()));
        EXPECT_EQ(file.snapshot().sideband.size(), 5001u);
        EXPECT_EQ(file.snapshot(), expected.snapshot()) << type << " " << piece_bytes;
        EXPECT_EQ(bytes_of(file, 0), bytes_of(expected, 0));
      }
    }
  }
}

// As perf 6.16 writes them: one header for all pieces, whose 16 bits are not enough.
std::string too_large_for_its_header(const std::string& zstd) {
  constexpr size_t kMost = 65'519;
  std::string all;
  ByteWriter out(all);
  for (size_t at = 0; at < zstd.size(); at += kMost) {
    const std::string piece = zstd.substr(at, kMost);
    out.u32(kCompressed2);
    out.u32(static_cast<uint32_t>(piece.size() + 16) << 16);
    out.u64(0x1234567890);  // never written to
    out.raw(piece);
  }
  std::string head;
  ByteWriter(head).u32(kCompressed2);
  ByteWriter(head).u32(static_cast<uint32_t>((all.size() + 7) & 0xfff8) << 16);
  ByteWriter(head).u64(all.size() - 16);
  all.replace(0, 16, head);
  if (((all.size() + 7) & ~size_t{7}) <= UINT16_MAX) all.resize((all.size() + 7) & ~size_t{7});
  return all;
}

TEST(PerfLayouts, CompressedRecordsMayBeLargerThanTheirHeadersSay) {
  std::minstd_rand random(1);
  for (size_t noise : {65'519 - 300, 65'519 - 30, 65'519, 100'000, 200'000}) {
    PerfBuilder plain;
    plain.info();
    const size_t begin = plain.records().size();
    for (size_t left = noise; left > 0;) {
      std::string bytes(std::min<size_t>(left, 40'000), '\0');
      for (char& byte : bytes) byte = static_cast<char>(random() >> 8);
      plain.record(200, 0, bytes);
      left -= bytes.size();
    }
    add_history(plain, 3);
    const std::string before = plain.records().substr(0, begin);
    const std::string packed = zstd_of(plain.records().substr(begin));
    PerfBuilder builder = PerfBuilder().raw(before).raw(too_large_for_its_header(packed));
    builder.packets(2, -1, 0, test_packets(1, 1));
    const SnapshotFile file = written(test_input(builder.file()));
    EXPECT_EQ(file.snapshot().sideband.size(), 4u) << noise;
    EXPECT_TRUE(file.snapshot().losses.empty()) << noise << " " << file.snapshot().losses[0].name;
    EXPECT_TRUE(bytes_of(file, 0).starts_with(test_packets(1, 1)));
  }
}

TEST(PerfLayouts, DamagedCompressionEndsWhatIsCompressedAndNothingElse) {
  PerfBuilder builder;
  builder.info();
  const size_t begin = builder.records().size();
  add_history(builder, 100);
  builder.compress(begin, 500);
  builder.record(kCompressed, 0, "this is no zstd").record(kCompressed, 0, "nor is this");
  builder.packets(2, -1, 0, test_packets(1, 2));
  auto recording = read_perf_data(test_input(builder.file()));
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_EQ(recording->snapshot.sideband.size(), 101u);
  EXPECT_EQ(recording->chunks.size(), 1u);
  EXPECT_EQ(loss_count(recording->snapshot, "compressed bytes of the perf.data from where they are damaged on"), 26u);
}

TEST(PerfLayouts, ABombIsRefused) {
  PerfBuilder builder;
  builder.info();
  const size_t begin = builder.records().size();
  for (int i = 0; i < 400; ++i) builder.record(kFinishedRound, 0, std::string(60'000, '\0'));
  builder.compress(begin, 1 << 20).packets(2, -1, 0, test_packets(1, 2));
  const auto refused = read_perf_data(test_input(builder.file()));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kExhausted);
}

TEST(PerfLayouts, PacketsWithinCompressedRecordsAreDamage) {
  PerfBuilder builder;
  builder.info();
  const size_t begin = builder.records().size();
  builder.packets(2, -1, 0, "").compress(begin, 1000).packets(2, -1, 0, test_packets(1, 1));
  auto recording = read_perf_data(test_input(builder.file()));
  ASSERT_TRUE(recording);
  EXPECT_EQ(loss_count(recording->snapshot, "damaged records: AUXTRACE"), 1u);
}

// perf's threads write what is in their rings, compressed with a context of their own, and packets.
TEST(PerfLayouts, FilesOfThreadsAreReadAsOne) {
  PerfBuilder data;
  data.feature(kDirectoryFeature, std::string("\1\0\0\0\0\0\0\0", 8));
  data.info();
  add_history(data, 2);
  PerfBuilder whole = data;
  std::vector<std::string> threads;
  for (int cpu = 0; cpu < 3; ++cpu) {
    PerfBuilder thread;
    for (uint64_t i = 0; i < 4; ++i) {
      const TestId id{.cpu = cpu, .nano = kTestZero + 1000 + i * 10 + static_cast<uint64_t>(cpu)};
      thread.kernel_record(PERF_RECORD_SWITCH, 0, "", id);
      whole.kernel_record(PERF_RECORD_SWITCH, 0, "", id);
    }
    if (cpu == 1) thread.compress(0, 50);
    const std::string packets = test_packets(static_cast<uint64_t>(cpu), 3);
    thread.packets(cpu, -1, 0, packets);
    whole.packets(cpu, -1, 0, packets);
    threads.push_back(thread.records());
  }
  const SnapshotFile file = written(test_input(data.file(), threads));
  const SnapshotFile expected = written(test_input(whole.file(), {""}));
  EXPECT_EQ(file.snapshot(), expected.snapshot());
  EXPECT_EQ(file.snapshot().sideband.size(), 15u);
  for (size_t stream = 0; stream < 3; ++stream) EXPECT_EQ(bytes_of(file, stream), bytes_of(expected, stream));
  whole.feature(kDirectoryFeature, "");
  auto alone = read_perf_data(test_input(whole.file()));
  ASSERT_TRUE(alone);
  EXPECT_EQ(loss_count(alone->snapshot, kThreadFilesMissing), 1u);
}

TEST(PerfLayouts, SamplesHoldPiecesOfAProcessorsStream) {
  const std::string all = test_packets(9, 40);
  PerfBuilder builder(kSampleType);
  builder.info();
  builder.sample({.cpu = 1}, all.substr(0, 2000));
  builder.sample({.cpu = 3}, all.substr(3000, 999));
  builder.sample({.cpu = 1}, "");
  builder.sample({.pid = 5, .tid = 6, .cpu = 1}, all.substr(900, 2003));  // repeats 1,100 of the first
  builder.sample({.cpu = 1}, all.substr(4000, 512));                      // all in between was overwritten
  const SnapshotFile file = written(test_input(builder.file()));
  const Snapshot& snapshot = file.snapshot();
  ASSERT_EQ(snapshot.streams.size(), 2u);
  EXPECT_EQ(snapshot.streams[0].cpu, 1);
  EXPECT_EQ(snapshot.streams[1].cpu, 3);
  EXPECT_EQ(bytes_of(file, 0), all.substr(0, 2903) + all.substr(4000, 512));
  const auto& pieces = snapshot.streams[0].pieces;
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[1].offset, 2000u) << "where the first ends";
  EXPECT_EQ(pieces[1].bytes, 903u);
  EXPECT_EQ(pieces[2].offset, 2904u) << "behind a loss";
  EXPECT_EQ(loss_count(snapshot, "perf.data records not used: SAMPLE"), 1u) << "the one without packets";
}

TEST(PerfLayouts, CompressedSamplesAreAsGood) {
  const std::string all = test_packets(9, 40);
  PerfBuilder plain(kSampleType);
  plain.info();
  const size_t begin = plain.records().size();
  plain.sample({.cpu = 1}, all.substr(0, 2000)).sample({.cpu = 1}, all.substr(900, 2003));
  plain.sample({.cpu = 3}, all.substr(3000, 999));
  PerfBuilder packed = plain;
  packed.compress(begin, 700);
  const SnapshotFile expected = written(test_input(plain.file()));
  const SnapshotFile file = written(test_input(packed.file()));
  EXPECT_EQ(file.snapshot(), expected.snapshot());
  EXPECT_EQ(bytes_of(file, 0), all.substr(0, 2903));
  EXPECT_EQ(bytes_of(file, 1), all.substr(3000, 999));
}

TEST(PerfLayouts, WithoutSwitchesSamplesAreTheirThreads) {
  PerfBuilder builder(kSampleType);
  std::string info = PerfBuilder().info().records().substr(kRecordHeaderBytes);
  info[8 + 8 * kHaveSchedSwitch] = 0;
  builder.record(kAuxtraceInfo, 0, info);
  builder.sample({.pid = 5, .tid = 6, .cpu = 1}, test_packets(1, 1));
  builder.sample({.pid = 5, .tid = 7, .cpu = 1}, test_packets(2, 1));
  const SnapshotFile file = written(test_input(builder.file()));
  ASSERT_EQ(file.snapshot().streams.size(), 2u);
  EXPECT_EQ(file.snapshot().streams[1].cpu, -1);
  EXPECT_EQ(file.snapshot().streams[1].tid, 7);
}

// Every field that may stand before the packets.
TEST(PerfLayouts, PacketsStandBehindAllOtherFields) {
  EventKind event;
  event.sample_type = (uint64_t{1} << 24) - 1;  // all but WEIGHT_STRUCT, which stands in WEIGHT's place
  event.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED;
  event.branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX;
  event.sample_regs_user = 0x1f;
  event.sample_regs_intr = 0x3;
  std::string payload;
  ByteWriter out(payload);
  out.u64(77);  // IDENTIFIER
  out.u64(0x1000);
  out.u32(5);
  out.u32(6);
  for (uint64_t value : {11, 12, 13, 14}) out.u64(value);  // TIME, ADDR, ID, STREAM_ID
  out.u32(3);
  out.u32(0);
  out.u64(15);                                                 // PERIOD
  for (uint64_t value : {2, 100, 1, 2, 3, 4}) out.u64(value);  // READ
  for (uint64_t value : {3, 1, 2, 3}) out.u64(value);          // CALLCHAIN
  out.u32(12);
  out.raw("twelve bytes");
  for (uint64_t value : {2, 9, 1, 2, 3, 4, 5, 6}) out.u64(value);  // BRANCH_STACK
  for (uint64_t value : {2, 1, 2, 3, 4, 5}) out.u64(value);        // REGS_USER
  out.u64(16);
  out.raw("sixteen bytes...");
  out.u64(16);
  for (uint64_t value : {1, 2, 3}) out.u64(value);     // WEIGHT, DATA_SRC, TRANSACTION
  for (uint64_t value : {2, 8, 9}) out.u64(value);     // REGS_INTR
  for (uint64_t value : {1, 2, 3, 4}) out.u64(value);  // PHYS_ADDR, CGROUP, the sizes of pages
  out.u64(8);
  out.raw("packets!");
  AuxSamples samples;
  samples.add(event);
  AuxSample sample;
  ASSERT_EQ(samples.take(payload, sample), AuxSamples::Kind::kAux);
  EXPECT_EQ(sample.packets, "packets!");
  EXPECT_EQ(sample.tid, 6);
  EXPECT_EQ(sample.cpu, 3);
  for (size_t size = 0; size < payload.size(); ++size) {
    EXPECT_EQ(samples.take(payload.substr(0, size), sample), AuxSamples::Kind::kDamaged) << size;
  }
}

TEST(PerfLayouts, WhoseSampleItIsDecidesItsLayout) {
  EventKind without;
  without.sample_type = kTestSampleType;
  without.ids = {1};
  EventKind with = without;
  with.sample_type = kSampleType;
  with.ids = {2};
  AuxSamples samples;
  samples.add(without);
  EXPECT_FALSE(samples.any());
  samples.add(with);
  AuxSample sample;
  std::string payload = PerfBuilder().sample({.tid = 9}, "12345678").records().substr(kRecordHeaderBytes);
  payload[0] = 1;
  EXPECT_EQ(samples.take(payload, sample), AuxSamples::Kind::kOther);
  payload[0] = 2;
  EXPECT_EQ(samples.take(payload, sample), AuxSamples::Kind::kAux);
  EXPECT_EQ(sample.tid, 9);
  payload[0] = 3;
  EXPECT_EQ(samples.take(payload, sample), AuxSamples::Kind::kDamaged);
}

}  // namespace
}  // namespace fathom::snapshot::perf
