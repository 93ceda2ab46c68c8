// The bytes of a record of losses, and its conversion to Unix time.
#include "store/rocks/loss_record.h"

#include <gtest/gtest.h>

#include "store/rocks/loss_list.h"

namespace fathom::store {
namespace {

const std::string kLossTimes(
    "\x08\x07\x06\x05\x04\x03\x02\x01\x09\x07\x06\x05\x04\x03\x02\x01"
    "\x0a\x07\x06\x05\x04\x03\x02\x01\x05",
    25);
const std::string kVersion1 = "\x01" + kLossTimes + "\x03", kVersion2 = "\x02" + kLossTimes + "\x03";

LossRecord one_loss(bool is_unix) {
  return {.is_unix = is_unix,
          .losses = {{0x0102030405060708, 0x0102030405060709, 0x010203040506070a, /*bytes=*/5, /*most_batches=*/2}}};
}

TEST(LossRecordTest, BothVersionsAreRead) {
  for (const bool is_unix : {true, false}) {
    const std::string& golden = is_unix ? kVersion1 : kVersion2;
    Result<LossRecord> record = decode_loss_record(golden);
    ASSERT_TRUE(record.ok()) << record.error().message;
    EXPECT_EQ(*record, one_loss(is_unix));
    EXPECT_EQ(encode_loss_record(*record), golden);
  }
}

TEST(LossRecordTest, OtherBytesAreRejected) {
  for (size_t size = 2; size < kVersion2.size(); ++size) {
    EXPECT_FALSE(decode_loss_record(kVersion2.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(decode_loss_record("").ok());
  EXPECT_FALSE(decode_loss_record("\x03" + kLossTimes + "\x03").ok());
  EXPECT_TRUE(decode_loss_record("\x02")->losses.empty());
}

// A server wrote such a record after a boot in 1970.
TEST(LossRecordTest, TheFirstTimeIsNeverGreater) {
  LossRecord record = one_loss(/*is_unix=*/true);
  std::swap(record.losses[0].first_received_nano, record.losses[0].last_received_nano);
  EXPECT_EQ(*decode_loss_record(encode_loss_record(record)), one_loss(true));
}

TEST(LossRecordTest, RecordsAreForgottenByTheirKindOfTime) {
  const uint64_t last = one_loss(true).losses[0].last_received_nano;
  const AgeTime ahead = AgeTime::as_saved({.age_nano = 1ULL << 60, .offset_nano = 1000, .trusted_nano = 1000});
  const AgeTime behind = AgeTime::as_saved({.age_nano = 1ULL << 60, .offset_nano = -1000, .trusted_nano = -1000});
  LossList list;
  list.add("unix", one_loss(true));
  list.add("age", one_loss(false));
  EXPECT_TRUE(list.forget_through(last - 1, ahead).empty());
  EXPECT_EQ(list.forget_through(last, behind).begin()->first, "age");
  EXPECT_TRUE(list.forget_through(last + 999, behind).empty());
  EXPECT_EQ(list.forget_through(last + 1000, behind).begin()->first, "unix");
  EXPECT_TRUE(list.all(ahead).empty());
}

// It may have destroyed captures.
TEST(LossRecordTest, ALossWithoutBatchesIsKept) {
  const AgeTime time = AgeTime::as_saved({.age_nano = 1ULL << 60, .offset_nano = 0, .trusted_nano = 0});
  LossRecord record = one_loss(false);
  record.losses[0].most_batches = 0;
  LossList list;
  list.add("age", record);
  ASSERT_EQ(list.all(time).size(), 1u);
  EXPECT_EQ(list.all(time)[0].most_batches, 0u);
}

TEST(LossRecordTest, SpansMayHaveStartedTenMinutesBeforeTheirReception) {
  const AgeTime time = AgeTime::as_saved({.age_nano = 1ULL << 60, .offset_nano = 1000, .trusted_nano = 1000});
  const Loss loss = losses_of_record(one_loss(false), time)[0];
  EXPECT_EQ(loss.earliest_start_unix_nano, loss.first_received_unix_nano - 600'000'000'000);
  EXPECT_EQ(loss.latest_start_unix_nano, loss.last_received_unix_nano);
  LossRecord early = one_loss(true);
  early.losses[0].first_received_nano = 1;
  EXPECT_EQ(losses_of_record(early, time)[0].earliest_start_unix_nano, 0u);
}

TEST(LossRecordTest, OnlyStampsAreConverted) {
  const AgeTime time = AgeTime::as_saved({.age_nano = 1ULL << 60, .offset_nano = 1000, .trusted_nano = 1000});
  EXPECT_EQ(losses_of_record(one_loss(true), time)[0].first_received_unix_nano, 0x0102030405060708u);
  EXPECT_EQ(losses_of_record(one_loss(false), time)[0].first_received_unix_nano, 0x0102030405060708u + 1000);
  EXPECT_EQ(losses_of_record(one_loss(false), time)[0].last_received_unix_nano, 0x0102030405060709u + 1000);
  EXPECT_EQ(losses_of_record(one_loss(false), time)[0].found_unix_nano, 0x010203040506070au + 1000);
}

}  // namespace
}  // namespace fathom::store
