#include "query/cursor.h"

#include <gtest/gtest.h>

#include <random>

#include "query/base64url.h"

namespace fathom::query {
namespace {

PagePosition sample() {
  PagePosition position{{1, UINT64_MAX}, {.received_sequence = 42, .last = {.duration_nano = 7, .start_unix_nano = 9}}};
  position.cursor.last.trace_id.bytes[3] = 0xfe;
  position.cursor.last.span_id.bytes[7] = 0xff;
  return position;
}

TEST(Cursor, ComesBackAsItWas) {
  auto read = decode_cursor(encode_cursor(sample(), 5), 5);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->range.from_unix_nano, 1u);
  EXPECT_EQ(read->range.to_unix_nano, UINT64_MAX);
  EXPECT_EQ(read->cursor.received_sequence, 42u);
  EXPECT_EQ(read->cursor.last, sample().cursor.last);
}

TEST(Cursor, AnyChangeIsNoticed) {
  std::string text = encode_cursor(sample(), 5);
  EXPECT_FALSE(decode_cursor(text, 6).ok());
  for (size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(decode_cursor(changed, 5).ok()) << i;
    EXPECT_FALSE(decode_cursor(text.substr(0, i), 5).ok()) << i;
  }
}

TEST(Cursor, TheHashSeesEveryPartOfTheQuery) {
  SlowestQuery query;
  std::vector<uint64_t> hashes{query_hash(query)};
  auto differs = [&hashes](const SlowestQuery& other) {
    uint64_t hash = query_hash(other);
    EXPECT_EQ(std::count(hashes.begin(), hashes.end(), hash), 0) << hashes.size();
    hashes.push_back(hash);
  };
  differs({.range_text = "since=1h"});
  differs({.filter = {.service = ""}});
  differs({.filter = {.service = "a"}});
  differs({.filter = {.operation = "a"}});
  differs({.filter = {.where = {{"a", "b"}}}});
  differs({.filter = {.where = {{"ab", ""}}}});
  differs({.filter = {.where = {{"a", "b", {}, store::Compare::kNotEqual}}}});
  differs({.by = store::By::kSpanOfTrace});
  differs({.filter = {.where = {{"a", "b"}, {"a", "c"}}}});
  differs({.filter = {.errors = true}});
  differs({.filter = {.min_duration_nano = 1}});
  differs({.filter = {.max_duration_nano = 1}});
  differs({.by = store::By::kSpan});
  differs({.kept = Kept::kCaptured});
  differs({.kept = Kept::kAny});
  EXPECT_EQ(query_hash({.limit = 3}), hashes[0]);
}

TEST(Base64Url, ComesBackAsItWasAndHasOneText) {
  std::mt19937 random(3);
  for (size_t size = 0; size < 100; ++size) {
    std::string bytes(size, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    std::string text = base64url_encode(bytes);
    EXPECT_EQ(text.find_first_of("+/="), std::string::npos);
    EXPECT_EQ(base64url_decode(text), bytes);
  }
  EXPECT_EQ(base64url_encode("\xfb\xff"), "-_8");
  for (const char* bad : {"A", "AB", "AAB", "A=", "A A", "AAAAA"}) EXPECT_FALSE(base64url_decode(bad)) << bad;
}

}  // namespace
}  // namespace fathom::query
