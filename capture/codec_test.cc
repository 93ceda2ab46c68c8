// Encoding and decoding of captures: round trips, and what a decoder refuses.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>

#include "base/bytes.h"
#include "base/testing/repetitions.h"
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
  return encode_body(sample_capture());
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
  // With a stride above 1, each byte gets some of the values, and neighbouring bytes get the others.
  const size_t stride = 256 / repetitions(256);
  for (size_t at = 0; at < body.size(); ++at) {
    for (size_t value = at % stride; value < 256; value += stride) {
      std::string changed = body;
      changed[at] = static_cast<char>(value);
      Result<Capture> decoded = decode_body(changed, {.most_memory_bytes = 1 << 20});
      if (!decoded.ok()) continue;
      ++decoded_some;
      ASSERT_FALSE(describe(*decoded).empty());
      Result<Capture> again = decode_body(encode_body(*decoded), {});
      ASSERT_TRUE(again.ok() && same(*again, *decoded)) << at << ": " << value;
    }
  }
  EXPECT_GT(decoded_some, body.size());
}

uint64_t tables_at(const std::string& body) {
  uint64_t at = 0;
  std::memcpy(&at, body.data() + body.size() - sizeof at, sizeof at);
  return at;
}

// A body whose tables are these.
std::string with_tables(const std::string& body, std::string tables) {
  const uint64_t at = tables_at(body);
  ByteWriter(tables).u64(at);
  return body.substr(0, at) + tables;
}

TEST(CaptureCodec, TakesNoMemoryForWhatIsNotThere) {
  // So many strings are in the few bytes of the table.
  std::string many;
  ByteWriter(many).varint(uint64_t{1} << 60);
  Result<Capture> decoded = decode_body(with_tables(sample_body(), many), {});
  ASSERT_EQ(code_of(decoded), ErrorCode::kCorrupt);
  EXPECT_NE(decoded.error().message.find("strings"), std::string::npos) << decoded.error().message;
}

// Of one thread, which says that it has these.
std::string body_with_totals(const ThreadTotals& totals) {
  Capture capture;
  capture.tracepoints = {{"point", "a.cc", 1, {{"text", FieldType::kText}}}};
  capture.threads = {{.tid = 1}};
  std::vector<Value> values{capture.threads[0].add_text("word")};
  capture.threads[0].add_event({.monotonic_nano = 1}, values);
  std::string body = encode_body(capture), tables = body.substr(tables_at(body));
  tables.resize(tables.size() - sizeof(uint64_t) - 3);
  ByteWriter out(tables);
  out.varint(totals.events);
  out.varint(totals.values);
  out.varint(totals.text_bytes);
  return with_tables(body, tables);
}

TEST(CaptureCodec, ThreadsHaveAsManyEventsAsTheyWereSaidToHave) {
  EXPECT_TRUE(decode_body(body_with_totals({1, 1, 4}), {}).ok());
  for (const ThreadTotals& wrong : {ThreadTotals{0, 1, 4}, ThreadTotals{1, 0, 4}, ThreadTotals{1, 1, 3},
                                    ThreadTotals{2, 1, 4}, ThreadTotals{1, 2, 4}, ThreadTotals{1, 1, 5},
                                    ThreadTotals{UINT64_MAX, 1, 4}, ThreadTotals{1, 1, uint64_t{1} << 62}}) {
    Result<Capture> decoded = decode_body(body_with_totals(wrong), {});
    ASSERT_EQ(code_of(decoded), ErrorCode::kCorrupt) << wrong.events << " " << wrong.values << " " << wrong.text_bytes;
    EXPECT_NE(decoded.error().message.find("events"), std::string::npos) << decoded.error().message;
  }
}

// As an agent meets them: chunk by chunk, and what a signal handler wrote is before what it interrupted.
TEST(CaptureCodec, EventsOfThreadsComeInAnyOrder) {
  Capture capture;
  capture.tracepoints = {{"point", "a.cc", 1, {{"n", FieldType::kNatural}}}};
  capture.threads = {{.tid = 1}, {.tid = 7}};
  CaptureEncoder encoder;
  for (uint32_t i = 0; i < 20'000; ++i) {
    EventColumns& columns = encoder.body().events_of(i / 100 % 2 == 0 ? 7 : 1);
    EventValues values = columns.values(1);
    values.natural(i);
    columns.add({.monotonic_nano = i ^ 1}, 1, values);
  }
  EXPECT_TRUE(encoder.body().has_events(7));
  EXPECT_FALSE(encoder.body().has_events(2));
  Result<Capture> decoded = decode(*encoder.finish(capture));
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  for (const Thread& thread : decoded->threads) {
    ASSERT_EQ(thread.events.size(), 10'000u);
    EXPECT_TRUE(std::ranges::is_sorted(thread.events, {}, &Event::monotonic_nano));
    for (const Event& event : thread.events) {
      ASSERT_EQ(thread.values_of(event)[0].natural(), event.monotonic_nano ^ 1);
      ASSERT_EQ(event.monotonic_nano / 100 % 2 == 0 ? 7u : 1u, thread.tid);
    }
  }
}

TEST(CaptureCodec, KeepsThreadsApart) {
  Capture capture;
  capture.threads = {{.tid = 1}, {.tid = 2}};
  const std::string body = encode_body(capture);
  std::string twice = body;
  // The second thread is the last seven bytes of the tables.
  twice[twice.size() - sizeof(uint64_t) - format::kLeastThread] = 1;
  EXPECT_TRUE(decode_body(body, {}).ok());
  EXPECT_EQ(code_of(decode_body(twice, {})), ErrorCode::kCorrupt);
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
  const std::string body = encode_body(capture);
  std::string rest = body.substr(tables_at(body));
  rest.resize(rest.size() - sizeof(uint64_t));
  // The count of texts, and three bytes of the size of the only one.
  rest.erase(1, 3 + format::kMostTextBytes);
  std::string longer(1, rest[0]);
  ByteWriter(longer).string(capture.reason + "x");
  Result<Capture> decoded = decode_body(with_tables(body, longer + rest.substr(1)), {});
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
  for (uint32_t tid = 1; tid <= 200; ++tid) capture.threads.push_back({.tid = tid});
  uint64_t taken = 0;
  ASSERT_TRUE(decode(encode(capture), {}, &taken).ok());
  EXPECT_GE(taken, 1000 * sizeof(SpanRef) + 500 * sizeof(Tracepoint) + 200 * sizeof(Thread));
  EXPECT_TRUE(decode(encode(capture), {.most_memory_bytes = taken}).ok());
  EXPECT_EQ(code_of(decode(encode(capture), {.most_memory_bytes = taken - 1})), ErrorCode::kExhausted);
}

TEST(CaptureCodec, TakesNoMoreMemoryToSortEventsThanItMay) {
  Capture capture;
  capture.tracepoints = {{"point", "a.cc", 1, {}}};
  capture.threads = {{.tid = 1}};
  constexpr uint64_t kEvents = 1000;
  for (bool is_sorted : {true, false}) {
    CaptureEncoder encoder;
    for (uint64_t i = 1; i <= kEvents; ++i) {
      EventColumns& columns = encoder.body().events_of(1);
      columns.add({.monotonic_nano = is_sorted ? i : kEvents - i}, 0, columns.values(0));
    }
    const std::string bytes = *encoder.finish(capture);
    uint64_t taken = 0;
    ASSERT_TRUE(decode(bytes, {}, &taken).ok());
    EXPECT_LT(taken, 2 * kEvents * sizeof(Event)) << "what it takes in the end";
    EXPECT_EQ(decode(bytes, {.most_memory_bytes = taken}).ok(), is_sorted);
    EXPECT_TRUE(decode(bytes, {.most_memory_bytes = taken + kEvents * sizeof(Event)}).ok());
  }
}

// Numbers of which half the bits are random, in appends of some bytes to a megabyte.
std::string frame_of_many_appends(size_t likely_bytes, std::string& body) {
  std::mt19937_64 random(7);
  FrameWriter frame(likely_bytes);
  for (size_t bytes : {100, 1 << 20, 1000, 3 << 20, 7, 700'000}) {
    std::string piece(bytes, '\0');
    for (size_t at = 0; at + 8 <= bytes; at += 8) {
      const uint64_t number = random() & 0xffff'ffff;
      std::memcpy(&piece[at], &number, sizeof number);
    }
    frame.append(piece);
    body += piece;
  }
  return *frame.finish();
}

TEST(CaptureFrame, IsWholeWhoeverCompresses) {
  for (size_t likely_bytes : {size_t{0}, size_t{64} << 20}) {
    std::string body;
    const std::string frame = frame_of_many_appends(likely_bytes, body);
    const Result<Body> opened = open_frame(frame, 64 << 20);
    ASSERT_TRUE(opened.ok()) << likely_bytes;
    EXPECT_EQ(opened->view(), body) << likely_bytes;
    EXPECT_LT(frame.size(), body.size());
  }
}

// This process gets no more memory from the system, and has none left.
class NoMemory {
 public:
  NoMemory() {
    ::getrlimit(RLIMIT_AS, &limit_);
    const rlimit none{.rlim_cur = 0, .rlim_max = limit_.rlim_max};
    ::setrlimit(RLIMIT_AS, &none);
    for (void* next = nullptr; (next = std::malloc(16 << 10)) != nullptr; taken_ = next)
      std::memcpy(next, &taken_, sizeof taken_);
  }
  ~NoMemory() {
    ::setrlimit(RLIMIT_AS, &limit_);
    while (taken_ != nullptr) {
      void* const last = taken_;
      std::memcpy(&taken_, last, sizeof taken_);
      std::free(last);
    }
  }

 private:
  rlimit limit_{};
  void* taken_ = nullptr;
};

TEST(CaptureCodec, WithoutMemoryToCompressWithThereIsAFault) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer needs memory itself";
  CaptureEncoder encoder(1 << 20);
  std::optional<Result<std::string> > bytes;
  {
    NoMemory here;
    bytes = encoder.finish({});
  }
  ASSERT_FALSE(bytes->ok());
  EXPECT_EQ(bytes->error().code, ErrorCode::kExhausted);
  EXPECT_NE(bytes->error().message.find("memory"), std::string::npos) << bytes->error().message;
}

TEST(CaptureCodec, SaysWhatIsNoCaptureAndWhatIsTooNew) {
  EXPECT_EQ(code_of(decode("GIF89a, or another file")), ErrorCode::kInvalid);
  EXPECT_EQ(code_of(decode("")), ErrorCode::kInvalid);
  std::string newer = encode(sample_capture());
  newer[8] = 3;
  Result<Capture> decoded = decode(newer);
  ASSERT_EQ(code_of(decoded), ErrorCode::kUnsupported);
  EXPECT_NE(decoded.error().message.find("version 3"), std::string::npos) << decoded.error().message;
}

TEST(CaptureCodec, SaysWhereItIsDamaged) {
  // The head's times go on and on.
  std::string tables;
  ByteWriter(tables).varint(0);
  Result<Capture> decoded = decode_body(with_tables(sample_body(), tables + std::string(12, '\xff')), {});
  ASSERT_EQ(code_of(decoded), ErrorCode::kCorrupt);
  EXPECT_NE(decoded.error().message.find("first words, from byte " + std::to_string(tables_at(sample_body()) + 1)),
            std::string::npos)
      << decoded.error().message;
  std::string frame = encode(sample_capture());
  frame[frame.size() - 3] = static_cast<char>(frame[frame.size() - 3] ^ 1);
  decoded = decode(frame);
  ASSERT_EQ(code_of(decoded), ErrorCode::kCorrupt);
  EXPECT_NE(decoded.error().message.find("frame"), std::string::npos) << decoded.error().message;
}

}  // namespace
}  // namespace fathom::capture
