#include "redact/key_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/testing/temp_directory.h"

namespace fathom {
namespace {

TEST(RedactKeyFile, IsMadeOnceForItsOwnerOnly) {
  TempDirectory directory;
  const std::string path = directory.path() + "/redact-key";
  const auto made = read_or_make_redact_key(path);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_FALSE(made->is_zero());
  struct stat about {};
  ASSERT_EQ(::stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0600u);
  const auto again = read_or_make_redact_key(path);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, *made);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

TEST(RedactKeyFile, IsRefusedWhenItHoldsNoKey) {
  TempDirectory directory;
  const std::string path = directory.path() + "/redact-key";
  for (const std::string& content : {std::string(), std::string(63, 'a'), std::string(64, '0'), std::string(64, 'x')}) {
    std::ofstream(path) << content << "\n";
    const auto read = read_or_make_redact_key(path);
    ASSERT_FALSE(read.ok()) << content;
    EXPECT_NE(read.error().message.find(path), std::string::npos);
  }
  std::ofstream(path) << std::string(64, 'a') << "\n";
  EXPECT_TRUE(read_redact_key(path).ok());
  EXPECT_FALSE(read_redact_key(path + ".none").ok());
}

}  // namespace
}  // namespace fathom
