// Every wrong bit of a payload is found, and greater damage is left as it is.
#include "store/wal/bit_correction.h"

#include <gtest/gtest.h>

#include <random>

#include "base/testing/temp_directory.h"
#include "store/testing/damage.h"
#include "store/wal/log_scan.h"
#include "store/wal/log_writer.h"

namespace fathom::store::testing {
namespace {

std::string noise(size_t bytes) {
  std::mt19937_64 random(bytes);
  std::string text(bytes, '\0');
  for (char& byte : text) byte = static_cast<char>(random());
  return text;
}

void flip(std::string& bytes, size_t bit) {
  bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
}

TEST(BitCorrection, FindsEveryWrongBit) {
  const std::string payload = noise(100);
  const uint32_t checksum = fragment_checksum(FragmentType::kFull, payload);
  EXPECT_EQ(find_wrong_bit(FragmentType::kFull, payload, checksum), std::nullopt);
  for (size_t bit = 0; bit < 8 * payload.size(); ++bit) {
    std::string wrong = payload;
    flip(wrong, bit);
    EXPECT_EQ(find_wrong_bit(FragmentType::kFull, wrong, checksum), bit);
  }
}

TEST(BitCorrection, FindsNoBitForTwoWrongOnes) {
  const std::string payload = noise(kLogBlockBytes - kFragmentHeaderBytes);
  const uint32_t checksum = fragment_checksum(FragmentType::kFirst, payload);
  for (size_t bit = 1; bit < 8 * payload.size(); bit += 9001) {
    std::string wrong = payload;
    flip(wrong, 0);
    flip(wrong, bit);
    EXPECT_EQ(find_wrong_bit(FragmentType::kFirst, wrong, checksum), std::nullopt) << bit;
  }
}

class Records : public LogVisitor {
 public:
  Result<> on_record(std::string_view record) override {
    text += record;
    return {};
  }
  std::string text;
};

TEST(BitCorrection, CorrectsEachFragmentOfALog) {
  TempDirectory directory;
  rocksdb::Env& env = *rocksdb::Env::Default();
  const std::string log = directory / "log", corrected = directory / "corrected";
  Result<LogWriter> writer = LogWriter::create(env, log);
  ASSERT_TRUE(writer.ok());
  std::string all;
  for (const size_t bytes : {size_t{50}, 2 * kLogBlockBytes, size_t{300}}) {
    all += noise(bytes);
    ASSERT_TRUE(writer->add(noise(bytes)).ok());
  }
  ASSERT_TRUE(writer->finish().ok());
  for (const uint64_t byte :
       {uint64_t{20}, uint64_t{kLogBlockBytes / 2}, 2 * kLogBlockBytes - 1, 2 * kLogBlockBytes + 300})
    flip_bit(log, 8 * byte + 3);
  Result<size_t> corrections = copy_corrected(env, log, corrected);
  ASSERT_TRUE(corrections.ok());
  EXPECT_EQ(*corrections, 4u);
  Records records;
  Result<LogSummary> summary = scan_log(env, corrected, records);
  ASSERT_TRUE(summary.ok());
  EXPECT_TRUE(summary->is_whole());
  EXPECT_EQ(records.text, all);
}

}  // namespace
}  // namespace fathom::store::testing
