#include "apps/recorder/progress.h"

#include <gtest/gtest.h>

#include <string>

#include "base/time.h"

namespace fathom {
namespace {

class StepProgressTest : public testing::Test {
 protected:
  void steps(uint64_t many) {
    while (many-- > 0) progress_.step();
  }

  std::string said_;
  uint64_t now_ = 5 * kNanosPerSecond;
  StepProgress progress_{1'000'000, [this](std::string_view text) { said_ += text; }, [this] { return now_; }};
};

TEST_F(StepProgressTest, SaysOnceASecondHowFarItIs) {
  steps(10'240);
  progress_.clear();
  EXPECT_EQ(said_, "") << "what is short stays silent";
  now_ += kNanosPerSecond;
  steps(512);
  EXPECT_EQ(said_, "\r\x1b[Kfathom record: 10,496 of at most 1,000,000 instructions");
  said_.clear();
  now_ += kNanosPerSecond;
  for (int i = 0; i < 256; ++i) progress_.step("before main()");
  EXPECT_EQ(said_, "\r\x1b[Kfathom record: 11,008 of at most 1,000,000 instructions, before main()");
  said_.clear();
  progress_.clear();
  progress_.clear();
  EXPECT_EQ(said_, "\r\x1b[K");
}

TEST(StepProgress, WithoutATerminalThereIsNone) {
  uint64_t asked = 0;
  StepProgress progress(10, {}, [&] { return ++asked * kNanosPerSecond; });
  for (int i = 0; i < 1000; ++i) progress.step();
  progress.clear();
  EXPECT_EQ(asked, 1u);
}

}  // namespace
}  // namespace fathom
