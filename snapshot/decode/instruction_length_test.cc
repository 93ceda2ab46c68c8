#include "snapshot/decode/instruction_length.h"

#include <gtest/gtest.h>

#include <string>

namespace fathom::snapshot {
namespace {

using namespace std::string_literals;

int length(const std::string& bytes, CodeMode mode = CodeMode::k64) {
  return instruction_length({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, mode);
}

TEST(InstructionLength, IsLibiptsOwn) {
  EXPECT_EQ(length("\x90\x90"), 1);
  EXPECT_EQ(length("\x48\x89\xe5\x90"), 3);
  EXPECT_EQ(length("\xe8\x10\x00\x00\x00"s), 5) << "a branch";
  EXPECT_EQ(length("\x74\x02\x90"), 2) << "one that needs a packet";
  EXPECT_EQ(length("\xff\xe0\x90"), 2);
  EXPECT_EQ(length("\xf3\x0f\x01\xca\x90"), 4) << "clac with a prefix that it does not have";
}

TEST(InstructionLength, DependsOnTheMode) {
  const std::string move = "\xb8\x01\x02\x03\x04\x05"s;
  EXPECT_EQ(length(move, CodeMode::k32), 5);
  EXPECT_EQ(length(move, CodeMode::k16), 3);
}

TEST(InstructionLength, OfNoInstructionIsNothing) {
  EXPECT_EQ(length(""), 0);
  EXPECT_EQ(length("\x48"), 0);
}

}  // namespace
}  // namespace fathom::snapshot
