#include "base/sha256.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

TEST(Sha256, IsThatOfFips180) {
  EXPECT_EQ(sha256("").hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc").hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256Hasher hasher;
  hasher.add("a");
  hasher.add("bc");
  EXPECT_EQ(hasher.finish(), sha256("abc"));
}

}  // namespace
}  // namespace fathom
