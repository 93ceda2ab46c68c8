#include "capture/piece_thread.h"

#include <gtest/gtest.h>

#include <string>

#include "capture/frame.h"

namespace fathom::capture {
namespace {

constexpr uint64_t kLargeBytes = 16 << 20;

// A text of about this length.
std::string numbers(size_t bytes) {
  std::string text;
  for (uint64_t number = 0; text.size() < bytes; ++number) text += std::to_string(number * number);
  return text;
}

TEST(PieceThread, WorksThroughAllThatWasAppendedInItsOrder) {
  const std::string text = numbers(1'000'000);
  std::string done;
  PieceThread thread([&done](std::string_view piece) { done += piece; });
  ASSERT_TRUE(thread.start());
  for (size_t at = 0; at < text.size(); at += 4093) thread.append(std::string_view(text).substr(at, 4093));
  thread.finish();
  EXPECT_EQ(done, text);
}

TEST(PieceThread, EndsWithoutWork) {
  uint64_t pieces = 0;
  {
    PieceThread thread([&pieces](std::string_view) { ++pieces; });
    ASSERT_TRUE(thread.start());
  }
  EXPECT_EQ(pieces, 0u);
}

TEST(PieceThread, AFrameHasTheSameBytesWhicheverThreadCompresses) {
  const std::string text = numbers(3'000'000);
  std::string first;
  for (uint64_t likely_bytes : {uint64_t{0}, kLargeBytes}) {
    FrameWriter frame(likely_bytes);
    for (size_t at = 0; at < text.size(); at += 60'000) frame.append(std::string_view(text).substr(at, 60'000));
    const Result<std::string> bytes = frame.finish();
    ASSERT_TRUE(bytes.ok());
    const Result<Body> body = open_frame(*bytes, kLargeBytes);
    ASSERT_TRUE(body.ok()) << body.error().message;
    EXPECT_EQ(body->view(), text) << likely_bytes;
    if (first.empty()) first = *bytes;
    EXPECT_EQ(*bytes, first);
  }
}

}  // namespace
}  // namespace fathom::capture
