#include "store/testing/damage.h"

#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

namespace fathom::store::testing {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
  EXPECT_TRUE(file.good()) << path;
}

void flip_bit(const std::string& path, uint64_t bit) {
  std::string bytes = read_file(path);
  ASSERT_LT(bit / 8, bytes.size()) << path;
  bytes[bit / 8] = static_cast<char>(static_cast<uint8_t>(bytes[bit / 8]) ^ (1U << (bit % 8)));
  write_file(path, bytes);
}

void swap_contents(const std::string& a, const std::string& b) {
  const std::string first = read_file(a), second = read_file(b);
  write_file(a, second);
  write_file(b, first);
}

}  // namespace fathom::store::testing
