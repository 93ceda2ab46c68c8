#include "base/journal.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace fathom {
namespace {

TEST(Journal, IsTheStreamThatSystemdNamed) {
  int ends[2] = {};
  ASSERT_EQ(::pipe(ends), 0);
  struct stat about {};
  ASSERT_EQ(::fstat(ends[1], &about), 0);
  const std::string inode = std::to_string(about.st_ino);
  const std::string device = std::to_string(about.st_dev);
  EXPECT_TRUE(is_journal((device + ":" + inode).c_str(), ends[1]));
  EXPECT_FALSE(is_journal((device + ":" + inode + "1").c_str(), ends[1]));
  EXPECT_FALSE(is_journal(nullptr, ends[1]));
  EXPECT_FALSE(is_journal("", ends[1]));
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_FALSE(is_journal((device + ":" + inode).c_str(), ends[1]));  // closed
}

}  // namespace
}  // namespace fathom
