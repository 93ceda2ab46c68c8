// Opening a data directory: what is refused, and with which words; and what must stay readable.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/time.h"
#include "store/clock/clock_keeper.h"
#include "store/model/span_text.h"
#include "store/rocks/database.h"
#include "store/rocks/keys.h"
#include "store/testing/rocks_rig.h"

namespace fathom::store::testing {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Error open_error(RocksRig& rig) {
  Result<std::unique_ptr<RocksStore>> opened = RocksStore::open(rig.options());
  EXPECT_FALSE(opened.ok());
  return opened.ok() ? Error{} : opened.error();
}

class RocksOpen : public ::testing::Test {
 protected:
  // A store that was used and closed: one segment, and one batch in the stage.
  void SetUp() override {
    ASSERT_EQ(rig_.open(), "");
    append(1);
    ASSERT_TRUE(rig_.store().settle().ok());
    append(2);
    rig_.close();
  }
  void append(uint64_t trace) {
    ASSERT_EQ(append_once(rig_.store(), make_batch({test_span(trace, 1, 0, 10)})).outcome, AppendOutcome::kDurable);
  }
  void write_version(const std::string& text) { std::ofstream(rig_.path() + "/version") << text; }
  // As a server of this format, before the one with the age clock, left the directory.
  void make_older(const std::string& version) {
    for (const char* newer : {"/clock", "/store/manifest-size"}) std::filesystem::remove(rig_.path() + newer);
    write_version(version);
  }
  void put(Family family, const std::string& key, const std::string& value) {
    Result<std::unique_ptr<Database>> database =
        Database::open(rig_.options(), std::make_shared<const LivePartitions>());
    ASSERT_TRUE(database.ok()) << database.error().message;
    rocksdb::Status status = (*database)->db().Put(rocksdb::WriteOptions(), (*database)->family(family), key, value);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  void expect_corrupt(const std::string& message) {
    Error error = open_error(rig_);
    EXPECT_EQ(error.code, ErrorCode::kCorrupt) << error.message;
    EXPECT_NE(error.message.find(message), std::string::npos) << error.message;
  }

  RocksRig rig_;
};

TEST_F(RocksOpen, AnOlderVersionOpensAndIsRaised) {
  EXPECT_EQ(read_file(rig_.path() + "/version"), "7\n");
  make_older("1\n");
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(read_file(rig_.path() + "/version"), "7\n") << "an older server would not understand what is written now";
  EXPECT_TRUE(stored_trace(rig_.store(), 1));
  EXPECT_TRUE(stored_trace(rig_.store(), 2));
}

// It writes the first state of the clock before the version.
TEST_F(RocksOpen, AnUpgradeThatEndedBeforeItWroteTheVersionIsRepeated) {
  make_older("6\n");
  ASSERT_TRUE(write_first_clock(*rocksdb::Env::Default(), rig_.path()).ok());
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(read_file(rig_.path() + "/version"), "7\n");
  EXPECT_TRUE(stored_trace(rig_.store(), 1));
  rig_.close();
  write_version("6\n");
  expect_corrupt("only servers of format 7 and newer write");
}

TEST_F(RocksOpen, ANewerVersionIsRefusedByName) {
  write_version("8\n");
  Error error = open_error(rig_);
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_NE(error.message.find("format 8"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find(rig_.path()), std::string::npos) << error.message;
  // Refused, and not touched.
  EXPECT_EQ(read_file(rig_.path() + "/version"), "8\n");
  write_version("7\n");
  ASSERT_EQ(rig_.open(), "");
  EXPECT_TRUE(stored_trace(rig_.store(), 2));
}

TEST_F(RocksOpen, AVersionThatIsNoNumberIsDamage) {
  for (const char* text : {"fathom", "0", "-1", "1x", "99999999999999999999"}) {
    write_version(text);
    expect_corrupt("does not hold a version; run 'fathom store repair " + rig_.path());
  }
}

// A directory that lost a part must not be used: RocksDB would create an empty store, and the start would delete the
// captures that no row of that store names.
class RocksOpenIncomplete : public RocksOpen {
 protected:
  bool exists(const std::string& name) const { return std::filesystem::exists(rig_.path() + name); }
  void move_away(const std::string& name) { std::filesystem::rename(rig_.path() + name, rig_.path() + name + ".away"); }
  void put_back(const std::string& name) {
    std::filesystem::remove_all(rig_.path() + name);
    std::filesystem::rename(rig_.path() + name + ".away", rig_.path() + name);
  }
  void expect_usable() {
    ASSERT_EQ(rig_.open(), "");
    EXPECT_TRUE(stored_trace(rig_.store(), 1));
    EXPECT_TRUE(stored_trace(rig_.store(), 2));
  }
};

TEST_F(RocksOpenIncomplete, AVersionWithoutItsStoreIsRefused) {
  move_away("/store");
  expect_corrupt("mount the disk of " + rig_.path() + "/store");
  EXPECT_FALSE(exists("/store"));
  std::filesystem::create_directory(rig_.path() + "/store");  // an empty mount point
  expect_corrupt("mount the disk of");
  EXPECT_TRUE(std::filesystem::is_empty(rig_.path() + "/store"));
  put_back("/store");
  expect_usable();
}

TEST_F(RocksOpenIncomplete, AStoreThatLostItsCurrentFileIsRefused) {
  move_away("/store/CURRENT");
  expect_corrupt("CURRENT");
  std::filesystem::remove(rig_.path() + "/version");
  expect_corrupt("CURRENT");
  write_version("7\n");
  put_back("/store/CURRENT");
  expect_usable();
}

TEST_F(RocksOpenIncomplete, AStoreWithoutItsVersionIsRefused) {
  move_away("/version");
  expect_corrupt("/version is missing");
  EXPECT_FALSE(exists("/version"));
  put_back("/version");
  expect_usable();
}

TEST_F(RocksOpenIncomplete, CapturesWithoutAStoreAreRefusedAndKept) {
  for (const char* name : {"/store", "/version"}) move_away(name);
  std::ofstream(rig_.path() + "/captures/a/0123") << "the content of a capture";
  expect_corrupt("/captures exists");
  EXPECT_TRUE(exists("/captures/a/0123"));
}

TEST_F(RocksOpenIncomplete, AFirstStartThatWasInterruptedIsRepeated) {
  for (const char* name : {"/store", "/captures"}) std::filesystem::remove_all(rig_.path() + name);
  write_version("7 new\n");
  ASSERT_EQ(rig_.open(), "");
  append(3);
  EXPECT_EQ(read_file(rig_.path() + "/version"), "7\n");
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_TRUE(stored_trace(rig_.store(), 3));
}

// A rename makes the new version appear at once: the old file, which has another name here, keeps the old number.
TEST_F(RocksOpenIncomplete, TheVersionIsReplacedAtomically) {
  make_older("1\n");
  std::filesystem::create_hard_link(rig_.path() + "/version", rig_.path() + "/version.old");
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(read_file(rig_.path() + "/version.old"), "1\n");
  EXPECT_EQ(read_file(rig_.path() + "/version"), "7\n");
}

// Database::open creates the column families after the database.
TEST_F(RocksOpen, AStoreWhoseCreationACrashEndedIsCompleted) {
  std::filesystem::remove_all(rig_.path() + "/store");
  write_version("7 new\n");
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* db = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(options, rig_.path() + "/store", &db).ok());
  delete db;
  ASSERT_EQ(rig_.open(), "");
  append(3);
  ASSERT_TRUE(rig_.store().settle().ok());
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_TRUE(stored_trace(rig_.store(), 3));
}

TEST_F(RocksOpen, AnEmptyVersionIsOfAnOlderServerThatACrashEnded) {
  make_older("");
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(read_file(rig_.path() + "/version"), "7\n");
}

TEST_F(RocksOpen, ADirectoryInUseIsNamed) {
  ASSERT_EQ(rig_.open(), "");
  std::string under_way = rig_.path() + "/ingest/7.sst";
  std::ofstream(under_way) << "of the one at work";
  Error error = open_error(rig_);
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_NE(error.message.find("in use"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("another --data directory"), std::string::npos) << error.message;
  EXPECT_TRUE(std::filesystem::exists(under_way));
  append(3);
  EXPECT_TRUE(rig_.store().settle().ok()) << "the refused one must not disturb the one at work";
}

TEST_F(RocksOpen, ADamagedStageIsNamed) {
  put(Family::kStage, keys::stage(100), "12345678 and no batch");
  expect_corrupt("the stage is damaged");
}

TEST_F(RocksOpen, AStageRowThatIsCutIsNamed) {
  put(Family::kStage, keys::stage(100), "123");
  expect_corrupt("the stage is damaged");
}

TEST_F(RocksOpen, ADamagedSegmentRecordIsNamed) {
  put(Family::kSegment, keys::segment(1, 7), std::string("\1\2\3", 3));
  expect_corrupt("segment 7");
}

TEST_F(RocksOpen, ASegmentRecordOfAnUnknownFormIsDamage) {
  put(Family::kSegment, keys::segment(1, 7), "\x09");
  expect_corrupt("unknown form");
}

TEST_F(RocksOpen, ADamagedCatalogueIsNamed) {
  put(Family::kOperation, keys::operation(1), "no row");
  expect_corrupt("catalogue");
}

TEST_F(RocksOpen, ADamagedNumberOfTheNextOperationIsNamed) {
  put(Family::kDefault, keys::kNextOperation, "1");
  expect_corrupt("next operation");
}

TEST_F(RocksOpen, ADamagedRecordOfTheOldestPartitionIsNamed) {
  put(Family::kDefault, keys::kOldestPartition, "1");
  expect_corrupt("oldest partition");
}

// Notes and corrections are by-products: what is lost of them is counted, and everything else is answered.
TEST_F(RocksOpen, ADamagedCorrectionIsSkippedAndCounted) {
  put(Family::kCorrected, keys::straddle(1, test_trace_id(1)), "no summary");
  put(Family::kCorrected, keys::partition(1) + "no trace", "no summary");
  const std::string series = "fathom_lost_index_values_total{index=\"corrected\"}";
  uint64_t before = metric(series);
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(metric(series) - before, 2u);
  EXPECT_TRUE(stored_trace(rig_.store(), 1));
  // Gone, and so counted once.
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_EQ(metric(series) - before, 2u);
}

TEST_F(RocksOpen, ADamagedNoteOfATraceOverPartitionsIsSkippedAndCounted) {
  put(Family::kStraddle, keys::partition(0) + "no trace", "");
  const std::string series = "fathom_lost_index_values_total{index=\"straddle\"}";
  uint64_t before = metric(series);
  rig_.advance(2 * kNanosPerHour);
  ASSERT_EQ(rig_.open(), "");
  append(3);
  ASSERT_TRUE(rig_.store().drop_before(rig_.now_unix_nano()).ok());
  EXPECT_EQ(metric(series) - before, 1u);
  EXPECT_TRUE(stored_trace(rig_.store(), 3));
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_EQ(metric(series) - before, 1u);
}

// The rows a note speaks of are damaged: the start must not end with it.
TEST_F(RocksOpen, ANoteOfATraceThatCannotBeReadIsSkippedAndCounted) {
  put(Family::kTrace, keys::trace(test_trace_id(1), 1, 1), "no summary");
  put(Family::kStraddle, keys::straddle(0, test_trace_id(1)), "");
  std::string oldest;
  append_be32(oldest, 1);
  put(Family::kDefault, keys::kOldestPartition, oldest);
  std::string sealed;
  ByteWriter(sealed).u64(1);
  put(Family::kDefault, keys::kSealedSequence, sealed);
  const std::string series = "fathom_lost_index_values_total{index=\"straddle\"}";
  uint64_t before = metric(series);
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(metric(series) - before, 1u);
  EXPECT_TRUE(stored_trace(rig_.store(), 2));
}

// One of everything that a batch can say.
BatchPtr golden_batch(std::optional<Hash128> identity = std::nullopt) {
  TestSpan root = test_span(1, 1, 0, 250 * kMilli).named("GET /cart/{id}").failed();
  root.status_message = "upstream timed out";
  root.trace_state = "vendor=1";
  root.flags = 0x101;
  root.with({"text", "caf\xc3\xa9"}).with({"number", -42}).with({"empty", ValueView{}});
  root.with({"yes", ValueView::of_bool(true)}).with({"ratio", ValueView::of_double(0.5)});
  root.with({"raw", std::string("\0\xff", 2), ValueType::kBytes}).with({"list", "[1,2]", ValueType::kJson});
  root.with({"long", "the beginning", ValueType::kCut});
  root.events = {{kTestNow + kMilli, "exception", {{"exception.type", "Timeout"}}, 2}};
  root.links = {{test_trace_id(9), test_span_id(9), "other=2", {{"why", "batch"}}, 1, 1}};
  root.dropped_attributes_count = 3;
  root.dropped_events_count = 4;
  root.dropped_links_count = 5;
  root.resource = {{{"service.name", "cart"}, {"service.namespace", "shop"}}, "https://schema/resource", 6};
  root.scope = {"tracer", "1.2", {{"scope", "yes"}}, "https://schema/scope", 7};
  TestSpan child = test_span(1, 2, 1000, 5 * kMilli).parent(1).of_kind(SpanKind::kClient).named("SELECT");
  return make_batch({root, child}, ClockOffset{-1'500'000, 250'000}, {}, identity);
}

std::string describe(const Batch& batch) {
  std::string text;
  for (const Batch::Row& row : batch.rows()) {
    Batch::Scratch scratch;
    StoredSpan span;
    span.span = batch.span(row, scratch);
    span.resource = batch.resource(row.resource);
    span.scope = batch.scope(row.scope);
    span.clock = batch.clock();
    text += content_text(span) + "\n";
  }
  return text;
}

std::string golden_path(const std::string& directory, const char* suffix, const char* version = "1") {
  return directory + "/batch-v" + version + "." + suffix;
}

std::string golden_bytes(const char* version = "1") {
  std::string hex = read_file(golden_path(FATHOM_TESTDATA, "hex", version));
  hex.resize(hex.find_last_not_of('\n') + 1);
  std::string bytes(hex.size() / 2, '\0');
  EXPECT_TRUE(from_hex(hex, reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()));
  return bytes;
}

// Batches of every released version must stay readable: they lie in stages. To add one after a new version: run this
// test with FATHOM_WRITE_GOLDEN set to the directory of the golden files, and commit what it wrote.
TEST(BatchGolden, VersionOneReads) {
  if (const char* directory = std::getenv("FATHOM_WRITE_GOLDEN")) {
    std::ofstream(golden_path(directory, "hex")) << to_hex(golden_batch()->encoded()) << "\n";
    std::ofstream(golden_path(directory, "txt")) << describe(*golden_batch());
  }
  std::string bytes = golden_bytes();
  ASSERT_FALSE(bytes.empty());
  Result<BatchPtr> batch = Batch::parse(bytes);
  ASSERT_TRUE(batch.ok()) << batch.error().message;
  EXPECT_EQ(describe(**batch), read_file(golden_path(FATHOM_TESTDATA, "txt")));
  // The same request encodes to the same bytes, so that its identity survives an upgrade.
  EXPECT_EQ(to_hex(golden_batch()->encoded()), to_hex(bytes));
}

// Version 2 says the same, and has a name that an agent gave it.
TEST(BatchGolden, VersionTwoReads) {
  const Hash128 name{0x0123456789abcdef, 0xfedcba9876543210};
  if (const char* directory = std::getenv("FATHOM_WRITE_GOLDEN")) {
    std::ofstream(golden_path(directory, "hex", "2")) << to_hex(golden_batch(name)->encoded()) << "\n";
  }
  std::string bytes = golden_bytes("2");
  ASSERT_FALSE(bytes.empty());
  Result<BatchPtr> batch = Batch::parse(bytes);
  ASSERT_TRUE(batch.ok()) << batch.error().message;
  EXPECT_EQ(describe(**batch), read_file(golden_path(FATHOM_TESTDATA, "txt")));
  EXPECT_EQ(to_hex(golden_batch(name)->encoded()), to_hex(bytes));
  EXPECT_EQ((*batch)->identity(), golden_batch(name)->identity());
}

TEST(BatchGolden, AStageOfVersionOneIsRead) {
  RocksRig rig;
  ASSERT_EQ(rig.open(), "");
  rig.close();
  std::string value;
  ByteWriter(value).u64(kTestNow);
  {
    Result<std::unique_ptr<Database>> database =
        Database::open(rig.options(), std::make_shared<const LivePartitions>());
    ASSERT_TRUE(database.ok()) << database.error().message;
    rocksdb::DB& db = (*database)->db();
    ASSERT_TRUE(
        db.Put(rocksdb::WriteOptions(), (*database)->family(Family::kStage), keys::stage(1), value + golden_bytes())
            .ok());
  }
  ASSERT_EQ(rig.open(), "");
  for (int state = 0; state < 2; ++state) {
    std::optional<StoredTrace> trace = stored_trace(rig.store(), 1);
    ASSERT_TRUE(trace);
    ASSERT_EQ(trace->spans.size(), 2u);
    EXPECT_EQ(content_text(trace->spans[0]) + "\n" + content_text(trace->spans[1]) + "\n",
              read_file(golden_path(FATHOM_TESTDATA, "txt")));
    ASSERT_TRUE(rig.store().settle().ok());
  }
}

}  // namespace
}  // namespace fathom::store::testing
