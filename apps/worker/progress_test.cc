#include "apps/worker/progress.h"

#include <gtest/gtest.h>

#include <string>

#include "base/time.h"

namespace fathom {
namespace {

class ProgressLineTest : public testing::Test {
 protected:
  uint64_t now_ = 5 * kNanosPerSecond;
  std::string said_;
  ProgressLine line_{[this](std::string_view text) { said_ += text; }, [this] { return now_; }};
};

TEST_F(ProgressLineTest, SaysNothingOfWhatIsShort) {
  now_ += kNanosPerSecond - 1;
  line_.at("decoded", 1, 2);
  line_.clear();
  EXPECT_EQ(said_, "");
}

TEST_F(ProgressLineTest, IsWrittenOverOnceASecondAndTakenAway) {
  now_ += kNanosPerSecond;
  line_.at("decoded", 12 << 20, 88 << 20);
  EXPECT_NE(said_.find("decoded 12.0 MiB of 88.0 MiB"), std::string::npos) << said_;
  EXPECT_EQ(said_.find('\n'), std::string::npos);
  said_.clear();
  now_ += kNanosPerSecond / 2;
  line_.at("decoded", 13 << 20, 88 << 20);
  EXPECT_EQ(said_, "");
  line_.clear();
  EXPECT_EQ(said_, "\r\x1b[K");
  said_.clear();
  line_.clear();
  EXPECT_EQ(said_, "");
}

TEST(ProgressLine, NobodyIsTold) {
  uint64_t now = 0;
  ProgressLine line({}, [&] { return now; });
  now += 10 * kNanosPerSecond;
  line.at("decoded", 1, 2);
  line.clear();
}

}  // namespace
}  // namespace fathom
