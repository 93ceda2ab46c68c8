#include "node-agent/capture/living_threads.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/testing/temp_directory.h"

namespace fathom::agent {
namespace {

TEST(LivingThreads, AreFoundByTheirOwnNumbers) {
  LivingThreads threads(::getpid());
  char name[16];
  ASSERT_EQ(::pthread_getname_np(::pthread_self(), name, sizeof name), 0);
  ThreadIdentity self = threads(static_cast<uint32_t>(::gettid()));
  EXPECT_EQ(self.node_tid, static_cast<uint32_t>(::gettid()));
  EXPECT_EQ(self.name, name);
  EXPECT_EQ(threads(4'000'000'000).node_tid, 4'000'000'000) << "of one that is gone the program's";
  EXPECT_EQ(threads(4'000'000'000).name, "");
  EXPECT_EQ(LivingThreads(0)(7).node_tid, 7u);
}

// What /proc says of a program in a container.
class Container : public ::testing::Test {
 protected:
  Container() {
    write("4001/status", "Name:\tshop\nNSpid:\t4001\t1\n");
    thread("4001", "1", "main thread");
    thread("4017", "12", "worker");
    thread("wild", "13", "?");
    thread("4018", "no number", "?");
  }
  void thread(const std::string& number, const std::string& inner, const std::string& name) {
    write("4001/task/" + number + "/status", "Name:\t" + name + "\nNSpid:\t" + number + "\t" + inner + "\n");
    write("4001/task/" + number + "/comm", name + "\n");
  }
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path) << text;
  }
  TempDirectory scratch_;
  const std::string root_ = scratch_.path();
};

TEST_F(Container, HasOtherNumbers) {
  LivingThreads threads(4001, root_);
  EXPECT_EQ(threads(1).node_tid, 4001u);
  EXPECT_EQ(threads(1).name, "main thread");
  EXPECT_EQ(threads(12).node_tid, 4017u);
  EXPECT_EQ(threads(12).name, "worker");
  EXPECT_EQ(threads(13).node_tid, 13u);
  EXPECT_EQ(threads(4017).name, "") << "this number is nobody's in there";
}

}  // namespace
}  // namespace fathom::agent
