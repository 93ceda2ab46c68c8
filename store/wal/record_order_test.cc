// Records in the wrong place are found, and no others.
#include "store/wal/record_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include <rocksdb/write_batch.h>

#include "base/testing/repetitions.h"
#include "store/wal/log_files.h"

namespace fathom::store::testing {
namespace {

// One entry each.
LogSequences log_of(const std::vector<uint64_t>& numbers) {
  LogSequences log;
  for (const uint64_t number : numbers) log.push_back(SequenceRange{number, number + 1});
  return log;
}

std::vector<RecordNumbers> misplaced_in_all(const std::vector<LogSequences>& logs) {
  const std::vector<SequenceRange> ranges = ranges_of(logs);
  std::vector<RecordNumbers> misplaced;
  for (size_t log = 0; log < logs.size(); ++log) misplaced.push_back(misplaced_in(logs[log], ranges[log]));
  return misplaced;
}

using Misplaced = std::vector<RecordNumbers>;

TEST(RecordOrder, AscendingRecordsAreInPlace) {
  EXPECT_EQ(misplaced_in_all({log_of({1, 2, 7, 8}), {}, log_of({9, 12})}), (Misplaced{{}, {}, {}}));
}

TEST(RecordOrder, ARecordWithoutEntriesIsInPlace) {
  const LogSequences log = {SequenceRange{1, 4}, SequenceRange{4, 4}, SequenceRange{4, 5}};
  EXPECT_EQ(misplaced_in(log, SequenceRange()), RecordNumbers());
}

TEST(RecordOrder, FindsAnEarlierRecordOfTheSameLog) {
  EXPECT_EQ(misplaced_in_all({log_of({1, 2, 3, 2, 5})}), (Misplaced{{3}}));
}

TEST(RecordOrder, FindsALaterRecordOfTheSameLog) {
  EXPECT_EQ(misplaced_in_all({log_of({1, 5, 3, 4, 5})}), (Misplaced{{1}}));
}

TEST(RecordOrder, KeepsOneOfTwoEqualNeighbours) {
  EXPECT_EQ(misplaced_in_all({log_of({1, 2, 2, 4})}).front().size(), 1u);
}

TEST(RecordOrder, FindsRecordsOfOtherLogs) {
  EXPECT_EQ(misplaced_in_all({log_of({1, 2, 13, 4}), log_of({11, 2, 13, 14})}), (Misplaced{{2}, {1}}));
}

// Within its own log, such a record is in ascending order.
TEST(RecordOrder, FindsALaterRecordAtTheEndOfALog) {
  EXPECT_EQ(misplaced_in_all({log_of({1, 2, 12}), log_of({10, 11, 12})}), (Misplaced{{2}, {}}));
}

TEST(RecordOrder, FindsAnEarlierRecordAtTheBeginningOfALog) {
  EXPECT_EQ(misplaced_in_all({log_of({1, 2, 3}), log_of({2, 11, 12})}), (Misplaced{{}, {0}}));
}

TEST(RecordOrder, FindsALogOfWhichAllRecordsAreElsewhere) {
  EXPECT_EQ(misplaced_in_all({log_of({1, 2, 3}), log_of({1, 2}), log_of({4, 5})}), (Misplaced{{}, {0, 1}, {}}));
}

TEST(RecordOrder, OfTwoEqualLogsTheLaterOneStays) {
  EXPECT_EQ(misplaced_in_all({log_of({1, 2, 3}), log_of({1, 2, 3})}), (Misplaced{{0, 1, 2}, {}}));
}

TEST(RecordOrder, FindsWhatIsNoWriteBatch) {
  rocksdb::WriteBatch batch;
  ASSERT_TRUE(batch.Put("key", "value").ok());
  std::string record = batch.Data();
  EXPECT_EQ(sequences_of(record), (SequenceRange{0, 1}));
  record[8] = 2;
  EXPECT_EQ(sequences_of(record), std::nullopt) << "its count is wrong";
  EXPECT_EQ(sequences_of("short"), std::nullopt);
  record = batch.Data();
  std::fill_n(record.begin(), 8, '\xff');
  EXPECT_EQ(sequences_of(record), std::nullopt) << "RocksDB has no such sequence number";
  EXPECT_EQ(misplaced_in({std::nullopt, SequenceRange{1, 2}}, SequenceRange()), RecordNumbers{0});
}

TEST(RecordOrder, NamesBothPlacesOfARepeatedRecord) {
  const LogSequences log = log_of({1, 2, 3, 2, 5});
  EXPECT_EQ(with_repeated(log, {3}), (RecordNumbers{1, 3}));
}

// Whatever is left out, the rest is ascending; and nothing is left out that was not touched, if few records were.
TEST(RecordOrder, LeavesOutOnlyCopies) {
  std::mt19937_64 random(1);
  for (uint64_t i = 0; i < repetitions(300); ++i) {
    std::vector<LogSequences> logs = {log_of({}), log_of({}), log_of({})};
    for (uint64_t number = 0; number < 60; ++number) logs[number / 20].push_back(SequenceRange{number, number + 1});
    const size_t from = random() % 60, to = random() % 60;
    logs[to / 20][to % 20] = logs[from / 20][from % 20];
    const std::vector<RecordNumbers> misplaced = misplaced_in_all(logs);
    size_t left_out = 0;
    for (const RecordNumbers& numbers : misplaced) left_out += numbers.size();
    EXPECT_EQ(left_out, from == to ? 0u : 1u) << from << " was written to " << to;
    const bool is_either = misplaced[to / 20].contains(to % 20) || misplaced[from / 20].contains(from % 20);
    EXPECT_EQ(is_either, from != to);
  }
}

TEST(LogFiles, TheNameOfALogThatWasSetAsideHasItsRange) {
  const std::string name = name_set_aside("000012.log", Sha256(), {17, 4000});
  EXPECT_EQ(range_in_name(name), (SequenceRange{17, 4000})) << name;
  EXPECT_EQ(missing_bytes_in_name(name), 0u) << name;
  EXPECT_EQ(range_in_name(name_set_aside("000012.log", Sha256(), {})), SequenceRange());
  const std::string short_name = name_set_aside("000012.log", Sha256(), {}, 512);
  EXPECT_EQ(range_in_name(short_name), SequenceRange()) << short_name;
  EXPECT_EQ(missing_bytes_in_name(short_name), 512u) << short_name;
  const std::string long_name = name_set_aside("000012.log", Sha256(), {17, 4000}, 512);
  EXPECT_EQ(range_in_name(long_name), (SequenceRange{17, 4000})) << long_name;
  EXPECT_EQ(missing_bytes_in_name(long_name), 512u) << long_name;
  EXPECT_EQ(range_in_name("000012.log.0a1b.17-"), SequenceRange());
  EXPECT_EQ(log_file(name)->number, 12u);
}

}  // namespace
}  // namespace fathom::store::testing
