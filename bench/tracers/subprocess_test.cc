#include "bench/tracers/subprocess.h"

#include <gtest/gtest.h>

namespace fathom::bench::tracers {
namespace {

TEST(Subprocess, AnswersLineByLine) {
  auto cat = Subprocess::start({{"cat"}, {}});
  ASSERT_TRUE(cat.ok());
  EXPECT_EQ((*cat)->ask("one").value(), "one");
  EXPECT_EQ((*cat)->ask("two").value(), "two");
  EXPECT_TRUE((*cat)->running());
  (*cat)->stop(SIGTERM);
  EXPECT_FALSE((*cat)->running());
  EXPECT_FALSE((*cat)->ask("three").ok());
}

TEST(Subprocess, SaysThatAProgramEndedInsteadOfAnswering) {
  auto gone = Subprocess::start({{"true"}, {}});
  ASSERT_TRUE(gone.ok());
  EXPECT_FALSE((*gone)->ask("anything").ok());
}

TEST(RunToEnd, GivesStatusAndBothOutputs) {
  const auto ended = run_to_end({{"sh", "-c", "echo out; echo err >&2; echo $VALUE; exit 3"}, {{"VALUE", "seven"}}});
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(ended->status, 3);
  EXPECT_EQ(ended->output, "out\nerr\nseven\n");
  EXPECT_EQ(run_to_end({{"no-such-program-anywhere"}, {}})->status, 127);
}

TEST(RunToEnd, EndsWhatDoesNotEnd) {
  EXPECT_FALSE(run_to_end({{"sleep", "1000"}, {}}, 1).ok());
}

TEST(Path, IsSearched) {
  EXPECT_TRUE(program_is_installed("sh"));
  EXPECT_FALSE(program_is_installed("no-such-program-anywhere"));
}

}  // namespace
}  // namespace fathom::bench::tracers
