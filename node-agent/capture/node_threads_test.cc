#include "node-agent/capture/node_threads.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "base/testing/temp_directory.h"

namespace fathom::agent {
namespace {

constexpr uint64_t kLookNano = 1'000 * kNanosPerSecond;

// Writes a /proc with process 4001, which is process 1 of its own pid namespace.
class NodeThreadsTest : public ::testing::Test {
 protected:
  void write_status(const std::string& directory, uint32_t node_tid, uint32_t program_tid) {
    std::filesystem::create_directories(tasks_ + directory);
    std::ofstream(tasks_ + directory + "/status")
        << "Name:\tworker\nNSpid:\t" << node_tid << "\t" << program_tid << "\nThreads:\t2\n";
  }
  void begin_thread(uint32_t node_tid, uint32_t program_tid) {
    write_status(std::to_string(node_tid), node_tid, program_tid);
  }
  void end_thread(uint32_t node_tid) { std::filesystem::remove_all(tasks_ + std::to_string(node_tid)); }
  // Makes the new directory before it removes the old one, so that the inodes differ.
  void replace_thread(uint32_t node_tid, uint32_t program_tid) {
    write_status("next", node_tid, program_tid);
    end_thread(node_tid);
    std::filesystem::rename(tasks_ + "next", tasks_ + std::to_string(node_tid));
  }
  void look(uint64_t now_nano = kLookNano) {
    threads_.look(
        now_nano, [] { return true; }, SIZE_MAX);
  }
  int known_of(uint32_t first_program_tid, int count) const {
    int known = 0;
    for (int i = 0; i < count; ++i) known += threads_.find(first_program_tid + static_cast<uint32_t>(i)) ? 1 : 0;
    return known;
  }

  TempDirectory scratch_;
  const std::string tasks_ = std::string(scratch_.path()) + "/4001/task/";
  NodeThreads threads_{4001, 1, scratch_.path()};
};

TEST_F(NodeThreadsTest, HaveOtherNumbersThanInTheProgram) {
  begin_thread(4001, 1);
  begin_thread(4017, 12);
  EXPECT_FALSE(threads_.find(12)) << "before the first look";
  look();
  EXPECT_EQ(threads_.find(1), 4001u);
  EXPECT_EQ(threads_.find(12), 4017u);
  EXPECT_FALSE(threads_.find(4017)) << "the program has no thread of this number";
}

TEST_F(NodeThreadsTest, AThreadThatWasListedOnceKeepsItsNumberWhenItHasEnded) {
  begin_thread(4001, 1);
  look();
  begin_thread(4017, 12);
  ASSERT_TRUE(threads_.needs_look(12, kLookNano)) << "however short the time since the last look";
  look();
  end_thread(4017);
  EXPECT_FALSE(threads_.needs_look(12, kLookNano));
  look();
  EXPECT_EQ(threads_.find(12), 4017u);
  EXPECT_FALSE(threads_.needs_look(12, kLookNano));
}

TEST_F(NodeThreadsTest, AThreadThatHasEndedIsForgottenLater) {
  begin_thread(4001, 1);
  begin_thread(4017, 12);
  look();
  end_thread(4017);
  look();
  threads_.forget_ended(kLookNano + NodeThreads::kEndedNano);
  EXPECT_EQ(threads_.find(12), 4017u);
  threads_.forget_ended(kLookNano + NodeThreads::kEndedNano + 1);
  EXPECT_FALSE(threads_.find(12));
  EXPECT_EQ(threads_.find(1), 4001u) << "it lives";
}

TEST_F(NodeThreadsTest, ANumberThatTheProgramUsesAgainIsOfTheLaterThread) {
  begin_thread(4017, 12);
  look();
  end_thread(4017);
  begin_thread(5001, 12);
  EXPECT_FALSE(threads_.needs_look(12, kLookNano + NodeThreads::kTrustedNano));
  const uint64_t later_nano = kLookNano + NodeThreads::kTrustedNano + 1;
  EXPECT_TRUE(threads_.needs_look(12, later_nano)) << "though the number is known";
  look(later_nano);
  EXPECT_FALSE(threads_.needs_look(12, later_nano));
  EXPECT_EQ(threads_.find(12), 5001u);
  end_thread(5001);
  look(later_nano + kNanosPerSecond);
  EXPECT_EQ(threads_.find(12), 5001u) << "the last of two ended threads";
  threads_.forget_ended(later_nano + NodeThreads::kEndedNano + 1);
  EXPECT_EQ(threads_.find(12), 5001u) << "the first is forgotten";
}

TEST_F(NodeThreadsTest, ANumberThatTheNodeUsesAgainIsReadAgain) {
  begin_thread(4017, 12);
  look();
  replace_thread(4017, 30);
  look();
  EXPECT_EQ(threads_.find(30), 4017u);
  EXPECT_EQ(threads_.find(12), 4017u) << "it had this number";
  end_thread(4017);
  look();
  begin_thread(4017, 31);
  look();
  EXPECT_EQ(threads_.find(31), 4017u);
}

TEST_F(NodeThreadsTest, OfManyThatHaveEndedTheFirstAreForgottenAndNoneThatLives) {
  begin_thread(4001, 1);
  begin_thread(4002, 2);
  look();
  end_thread(4002);
  look();
  const int many = static_cast<int>(NodeThreads::kMostEnded);
  for (int i = 0; i < many; ++i) begin_thread(5000 + static_cast<uint32_t>(i), 100 + static_cast<uint32_t>(i));
  look();
  EXPECT_EQ(threads_.find(2), 4002u);
  for (int i = 0; i < many; ++i) end_thread(5000 + static_cast<uint32_t>(i));
  look();
  EXPECT_FALSE(threads_.find(2));
  EXPECT_EQ(known_of(100, many), many);
  EXPECT_EQ(threads_.find(1), 4001u);
}

TEST_F(NodeThreadsTest, ALookListsNoMoreThanItMayAndTheNextOneGoesOn) {
  constexpr int kThreads = 10, kListed = 4;
  for (uint32_t i = 0; i < kThreads; ++i) begin_thread(4100 + i, 100 + i);
  int looks = 0;
  for (int known = 0; known < kThreads && looks < kThreads; ++looks) {
    threads_.look(
        kLookNano, [] { return true; }, kListed);
    const int before = std::exchange(known, known_of(100, kThreads));
    EXPECT_LE(known, before + kListed);
    EXPECT_GE(known, before) << "threads that are not listed yet have not ended";
  }
  EXPECT_EQ(known_of(100, kThreads), kThreads);
  EXPECT_GE(looks, 3);
}

TEST_F(NodeThreadsTest, ALookEndsWhenItsTimeIsUp) {
  for (uint32_t i = 0; i < 5; ++i) begin_thread(4100 + i, 100 + i);
  int asked = 0;
  const auto until_first = [&] { return ++asked < 1; };
  threads_.look(kLookNano, until_first);
  EXPECT_EQ(asked, 1);
  EXPECT_LE(known_of(100, 5), 1);
  for (int i = 0; i < 10 && known_of(100, 5) < 5; ++i) threads_.look(kLookNano, until_first);
  EXPECT_EQ(known_of(100, 5), 5);
}

TEST_F(NodeThreadsTest, AThreadWhoseNumberCannotBeReadYetIsTriedAgain) {
  std::filesystem::create_directories(tasks_ + "4017");
  look();
  EXPECT_FALSE(threads_.find(12));
  begin_thread(4017, 12);
  look();
  EXPECT_EQ(threads_.find(12), 4017u);
}

TEST_F(NodeThreadsTest, OfAProgramThatHasTheNodesNumbersNothingIsListed) {
  NodeThreads threads(4001, 4001, scratch_.path());
  begin_thread(4017, 12);
  EXPECT_FALSE(threads.needs_look(12, kLookNano));
  EXPECT_FALSE(threads.needs_look(99, kLookNano)) << "also of a thread that nobody has seen";
  bool has_listed = false;
  threads.look(kLookNano, [&] { return has_listed = true; });
  EXPECT_FALSE(has_listed);
  EXPECT_EQ(threads.find(12), 12u);
}

TEST_F(NodeThreadsTest, OfAnUnknownProcessNoThreadIsKnown) {
  NodeThreads threads(0, 0, scratch_.path());
  threads.look_at_all();
  EXPECT_FALSE(threads.find(12));
}

}  // namespace
}  // namespace fathom::agent
