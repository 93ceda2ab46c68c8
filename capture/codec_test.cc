// Encoding and decoding of captures: round trips, and what a decoder refuses.
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "capture/body_decoder.h"
#include "capture/body_encoder.h"
#include "capture/decode.h"
#include "capture/encode.h"
#include "capture/format.h"
#include "capture/frame.h"
#include "capture/testing/describe.h"
#include "capture/testing/random_capture.h"

namespace fathom::capture {
namespace {

using testing::describe;
using testing::random_capture;
using testing::sample_capture;

std::string sample_body() {
  return std::string(encode_body(sample_capture()).view());
}

ErrorCode code_of(const Result<Capture>& result) {
  return result.ok() ? ErrorCode::kInternal : result.error().code;
}

TEST(CaptureCodec, GivesBackWhatItWasGiven) {
  for (const Capture& capture : {Capture{}, sample_capture()}) {
    Result<Capture> decoded = decode(encode(capture));
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    EXPECT_TRUE(same(*decoded, capture)) << describe(*decoded) << "not\n" << describe(capture);
  }
}

TEST(CaptureCodec, GivesBackAnyCapture) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Capture capture = random_capture(seed, seed % 10 == 0 ? 2000 : 20);
    Result<Capture> decoded = decode(encode(capture));
    ASSERT_TRUE(decoded.ok()) << "seed " << seed << ": " << decoded.error().message;
    ASSERT_TRUE(same(*decoded, capture)) << "seed " << seed;
    EXPECT_EQ(encode(*decoded), encode(capture)) << "seed " << seed;
  }
}

TEST(CaptureCodec, RefusesEveryBeginningOfACapture) {
  std::string bytes = encode(sample_capture());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode(std::string_view(bytes).substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(decode(bytes + "x").ok());
  std::string body = sample_body();
  for (size_t size = 0; size < body.size(); ++size) {
    EXPECT_EQ(code_of(decode_body(std::string_view(body).substr(0, size), {})), ErrorCode::kCorrupt) << size;
  }
  EXPECT_EQ(code_of(decode_body(body + "x", {})), ErrorCode::kCorrupt);
}

TEST(CaptureCodec, NoticesEveryChangedByte) {
  const std::string bytes = encode(sample_capture());
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x20);
    Result<Capture> decoded = decode(changed);
    // What zstd itself does not mind, like the unused bits of its header, changes nothing.
    EXPECT_TRUE(!decoded.ok() || same(*decoded, sample_capture())) << at;
  }
}

// Whatever a body says, what comes of it can be walked and encoded.
TEST(CaptureCodec, BelievesNoByteOfABody) {
  const std::string body = sample_body();
  size_t decoded_some = 0;
  for (size_t at = 0; at < body.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = body;
      changed[at] = static_cast<char>(value);
      Result<Capture> decoded = decode_body(changed, {.most_memory_bytes = 1 << 20});
      if (!decoded.ok()) continue;
      ++decoded_some;
      ASSERT_FALSE(describe(*decoded).empty());
      Result<Capture> again = decode_body(encode_body(*decoded).view(), {});
      ASSERT_TRUE(again.ok() && same(*again, *decoded)) << at << ": " << value;
    }
  }
  EXPECT_GT(decoded_some, body.size());
}

TEST(CaptureCodec, TakesNoMemoryForWhatIsNotThere) {
  std::string body = sample_body();
  uint64_t strings_at = load_be64(body.data());
  strings_at = __builtin_bswap64(strings_at);
  // So many strings are in the few bytes of the table.
  std::string many = body.substr(0, strings_at);
  ByteWriter(many).varint(uint64_t{1} << 60);
  Result<Capture> decoded = decode_body(many, {});
  ASSERT_EQ(code_of(decoded), ErrorCode::kCorrupt);
  EXPECT_NE(decoded.error().message.find("strings"), std::string::npos) << decoded.error().message;
}

TEST(CaptureCodec, KeepsToItsLimits) {
  Capture capture = random_capture(1, 2000);
  for (uint64_t seed = 2; encode_body(capture).size() < 100'000; ++seed) capture = random_capture(seed, 2000);
  std::string bytes = encode(capture);
  size_t body_bytes = encode_body(capture).size();
  Result<Capture> decoded = decode(bytes, {.most_bytes = body_bytes - 1});
  ASSERT_EQ(code_of(decoded), ErrorCode::kExhausted);
  EXPECT_NE(decoded.error().message.find(std::to_string(body_bytes - 1)), std::string::npos);
  EXPECT_TRUE(decode(bytes, {.most_bytes = body_bytes}).ok());
  EXPECT_EQ(code_of(decode(bytes, {.most_memory_bytes = 10'000})), ErrorCode::kExhausted);
}

// A long text that is named again and again takes one byte each time.
TEST(CaptureCodec, CountsCopiesOfTexts) {
  Capture capture;
  std::string name(format::kMostTextBytes, 'x');
  for (int i = 0; i < 1600; ++i) capture.losses.emplace_back(name, 1);
  std::string bytes = encode(capture);
  EXPECT_LT(bytes.size(), 10'000u);
  EXPECT_EQ(code_of(decode(bytes, {.most_memory_bytes = 50 << 20})), ErrorCode::kExhausted);
  EXPECT_TRUE(decode(bytes, {.most_memory_bytes = 200 << 20}).ok());
}

// What is said anew for each event of a place must not be of any length.
TEST(CaptureCodec, RefusesTextsLongerThanAgentsWrite) {
  Capture capture;
  capture.reason.assign(format::kMostTextBytes, 'x');
  EXPECT_TRUE(decode(encode(capture)).ok());
  std::string body(encode_body(capture).view());
  ASSERT_EQ(__builtin_bswap64(load_be64(body.data())), body.size() - format::kMostTextBytes - 4)
      << "count, and three bytes of the size";
  body.resize(body.size() - format::kMostTextBytes - 3);
  ByteWriter(body).string(capture.reason + "x");
  Result<Capture> decoded = decode_body(body, {});
  ASSERT_EQ(code_of(decoded), ErrorCode::kCorrupt);
  EXPECT_NE(decoded.error().message.find("strings"), std::string::npos) << decoded.error().message;
}

TEST(CaptureCodec, WhoWritesCutsTextsButNoValues) {
  Capture capture;
  capture.reason.assign(format::kMostTextBytes + 10, 'x');
  capture.tracepoints = {{"large", "large.cc", 1, {{"text", FieldType::kText}}}};
  capture.threads = {{.tid = 1}};
  std::vector<Value> values{capture.threads[0].add_text(std::string(2 * format::kMostTextBytes, 'y'))};
  capture.threads[0].add_event({}, values);
  Result<Capture> decoded = decode(encode(capture));
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(decoded->reason.size(), format::kMostTextBytes);
  EXPECT_EQ(decoded->threads[0].texts, capture.threads[0].texts);
}

TEST(CaptureCodec, SaysWhatMemoryItTook) {
  Capture capture;
  capture.span_sets.resize(3);
  capture.span_sets[1].resize(1000);
  capture.tracepoints.resize(500);
  capture.threads.resize(200);
  uint64_t taken = 0;
  ASSERT_TRUE(decode(encode(capture), {}, &taken).ok());
  EXPECT_GE(taken, 1000 * sizeof(SpanRef) + 500 * sizeof(Tracepoint) + 200 * sizeof(Thread));
  EXPECT_TRUE(decode(encode(capture), {.most_memory_bytes = taken}).ok());
  EXPECT_EQ(code_of(decode(encode(capture), {.most_memory_bytes = taken - 1})), ErrorCode::kExhausted);
}

TEST(CaptureCodec, SaysWhatIsNoCaptureAndWhatIsTooNew) {
  EXPECT_EQ(code_of(decode("GIF89a, or another file")), ErrorCode::kInvalid);
  EXPECT_EQ(code_of(decode("")), ErrorCode::kInvalid);
  std::string newer = encode(sample_capture());
  newer[8] = 2;
  Result<Capture> decoded = decode(newer);
  ASSERT_EQ(code_of(decoded), ErrorCode::kUnsupported);
  EXPECT_NE(decoded.error().message.find("version 2"), std::string::npos) << decoded.error().message;
}

TEST(CaptureCodec, SaysWhereItIsDamaged) {
  std::string body = sample_body();
  body[9] = '\xff';  // the head's times go on and on
  for (size_t i = 10; i < 21; ++i) body[i] = '\xff';
  Result<Capture> decoded = decode_body(body, {});
  ASSERT_EQ(code_of(decoded), ErrorCode::kCorrupt);
  EXPECT_NE(decoded.error().message.find("first words, from byte 8"), std::string::npos) << decoded.error().message;
  std::string frame = seal_frame(sample_body());
  frame[frame.size() - 3] = static_cast<char>(frame[frame.size() - 3] ^ 1);
  decoded = decode(frame);
  ASSERT_EQ(code_of(decoded), ErrorCode::kCorrupt);
  EXPECT_NE(decoded.error().message.find("frame"), std::string::npos) << decoded.error().message;
}

}  // namespace
}  // namespace fathom::capture
