#include "cli/child.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "base/time.h"
#include "cli/testing/scratch.h"

namespace fathom::cli {
namespace {

TEST(ChildProcess, SaysWhyAProgramCannotStart) {
  Result<Child> none = Child::start({{"/nowhere/at-all"}, "", {}});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message, "cannot start /nowhere/at-all: No such file or directory");
  Result<Child> nowhere = Child::start({{"true"}, "/nowhere", {}});
  ASSERT_FALSE(nowhere.ok());
  EXPECT_NE(nowhere.error().message.find("in /nowhere"), std::string::npos);
}

TEST(ChildProcess, IsWaitedForAndDescribed) {
  Result<Child> three = Child::start({{"sh", "-c", "exit 3"}, "", {}});
  ASSERT_TRUE(three.ok());
  auto status = three->wait(60 * kNanosPerSecond);
  ASSERT_TRUE(status);
  EXPECT_EQ(describe_exit(*status), "ended with status 3");
  EXPECT_FALSE(three->running());
  Result<Child> killed = Child::start({{"sh", "-c", "kill -9 $$"}, "", {}});
  ASSERT_TRUE(killed.ok());
  status = killed->wait(60 * kNanosPerSecond);
  ASSERT_TRUE(status);
  EXPECT_EQ(describe_exit(*status), "was killed by signal 9 (Killed)");
}

TEST(ChildProcess, WhatItLeftBehindGoesWithIt) {
  Pipe held = *make_pipe();
  Result<Child> parent = Child::start({{"sh", "-c", "sleep 1000 & exit 0"}, "", {{9, held.write.get()}}});
  ASSERT_TRUE(parent.ok());
  held.write.close();
  ASSERT_TRUE(parent->wait(60 * kNanosPerSecond));
  EXPECT_EQ(read_line(held.read.get()), "") << "the sleeper held the other end for a thousand seconds";
}

TEST(ChildProcess, WaitingEndsInTime) {
  Result<Child> long_one = Child::start({{"sleep", "1000"}, "", {}});
  ASSERT_TRUE(long_one.ok());
  EXPECT_FALSE(long_one->wait(20'000'000));
  EXPECT_TRUE(long_one->running());
}

TEST(ChildProcess, OutputIsCaptured) {
  EXPECT_EQ(*run_and_capture({"printf", "v1"}, 60 * kNanosPerSecond), "v1");
  EXPECT_FALSE(run_and_capture({"false"}, 60 * kNanosPerSecond).ok());
  EXPECT_EQ(run_and_capture({"sleep", "1000"}, 20'000'000).error().code, ErrorCode::kDeadline);
}

TEST(ChildProcess, DescriptorsArePlacedWhateverTheirNumbersWereHere) {
  // Three pipes whose read ends are to become each other's numbers.
  std::vector<Pipe> pipes;
  for (const char* text : {"a", "b", "c"}) {
    pipes.push_back(*make_pipe());
    EXPECT_EQ(::write(pipes.back().write.get(), text, 1), 1);
    pipes.back().write.close();
  }
  Pipe out = *make_pipe();
  ChildOptions options;
  options.command = {"sh", "-c", "cat <&3 >&1; cat <&4 >&1; cat <&5 >&1"};
  for (Pipe& pipe : pipes) {
    // Wherever they are: make them lie at 3, 4, 5 in the opposite order, as far as those are free to have here.
    options.descriptors.emplace_back(3 + static_cast<int>(options.descriptors.size()), pipe.read.get());
  }
  std::swap(options.descriptors[0].second, options.descriptors[2].second);
  options.descriptors.emplace_back(1, out.write.get());
  Result<Child> child = Child::start(options);
  ASSERT_TRUE(child.ok()) << child.error().message;
  out.write.close();
  EXPECT_EQ(read_line(out.read.get()), "cba");
}

TEST(ChildProcess, HasItsVariables) {
  ::setenv("FATHOM_TEST_KEPT", "kept", 1);
  ::setenv("FATHOM_TEST_GONE", "gone", 1);
  Pipe out = *make_pipe();
  ChildOptions options;
  options.command = {"sh", "-c",
                     "[ $OWN = $$ ] && echo \"$FATHOM_TEST_KEPT $FATHOM_TEST_NEW ${FATHOM_TEST_GONE-unset}\""};
  options.environment = {{"FATHOM_TEST_NEW", "new"}, {"FATHOM_TEST_GONE", std::nullopt}};
  options.own_pid_variable = "OWN";
  options.descriptors = {{1, out.write.get()}};
  Result<Child> child = Child::start(options);
  ASSERT_TRUE(child.ok());
  out.write.close();
  EXPECT_EQ(read_line(out.read.get()), "kept new unset");
}

}  // namespace
}  // namespace fathom::cli
