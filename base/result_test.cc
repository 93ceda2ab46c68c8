#include "base/result.h"

#include <memory>
#include <set>

#include <gtest/gtest.h>

namespace fathom {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return invalid("odd");
  return value / 2;
}

TEST(ResultOf, HoldsAValueOrAnError) {
  EXPECT_TRUE(half(4).ok());
  EXPECT_EQ(*half(4), 2);
  Result<int> odd = half(3);
  EXPECT_FALSE(odd);
  EXPECT_EQ(odd.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(odd.error().message, "odd");
}

TEST(ResultOf, NothingIsSuccess) {
  Result<> done;
  EXPECT_TRUE(done.ok());
  Result<> failed = internal("broken");
  EXPECT_FALSE(failed.ok());
}

TEST(ResultOf, MovesWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> made = std::make_unique<int>(7);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(**made, 7);
  std::unique_ptr<int> taken = *std::move(made);
  EXPECT_EQ(*taken, 7);
}

TEST(ResultOf, AnErrorIsAlsoAValueType) {
  Result<std::string> text = std::string("value");
  EXPECT_EQ(text->size(), 5u);
  text = not_found("gone");
  EXPECT_EQ(text.error().code, ErrorCode::kNotFound);
}

TEST(ResultOf, EveryCodeHasItsOwnName) {
  std::set<std::string_view> names;
  for (ErrorCode code :
       {ErrorCode::kInvalid, ErrorCode::kNotFound, ErrorCode::kUnavailable, ErrorCode::kExhausted, ErrorCode::kDeadline,
        ErrorCode::kCancelled, ErrorCode::kCorrupt, ErrorCode::kUnsupported, ErrorCode::kInternal}) {
    names.insert(error_code_name(code));
  }
  EXPECT_EQ(names.size(), 9u);
}

}  // namespace
}  // namespace fathom
