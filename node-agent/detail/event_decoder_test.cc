#include "node-agent/detail/event_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "node-agent/testing/scripted_detail.h"

namespace fathom::agent {
namespace {

using pool::FieldType;
using testing::raw;
using testing::sized;

Tracepoint every_type() {
  Tracepoint point{.kind = 16, .name = "all"};
  for (uint8_t type = 1; type <= 13; ++type) {
    point.fields.push_back({static_cast<FieldType>(type), std::string(1, static_cast<char>('a' + type - 1))});
  }
  return point;
}

std::string every_value() {
  return raw(int8_t{-1}) + raw(int16_t{-300}) + raw(int32_t{-70000}) + raw(INT64_MIN) + raw(uint8_t{255}) +
         raw(uint16_t{65535}) + raw(UINT32_MAX) + raw(UINT64_MAX) + raw(0.1F) + raw(-2.5e300) + raw(uint8_t{1}) +
         sized("text") + sized(std::string_view("\x00\xff", 2));
}

std::string text_of(const Tracepoint& point, std::string_view payload, bool exact = true) {
  std::vector<FieldValue> values;
  bool whole = decode_payload(point, payload, exact, values);
  return to_text({.tracepoint = &point, .values = values}) + (whole ? "" : " (malformed)");
}

TEST(EventDecoder, EveryTypeHasItsText) {
  EXPECT_EQ(text_of(every_type(), every_value()),
            "all a=-1 b=-300 c=-70000 d=-9223372036854775808 e=255 f=65535 g=4294967295 h=18446744073709551615 i=0.1 "
            "j=-2.5e+300 k=true l=\"text\" m=0x00ff");
}

TEST(EventDecoder, APayloadThatEndsEarlyHasTheValuesBefore) {
  std::string payload = every_value();
  EXPECT_EQ(text_of(every_type(), payload.substr(0, 4)), "all a=-1 b=-300 (malformed)");
  for (size_t size = 0; size < payload.size(); ++size) {
    std::string exact(payload.data(), size);
    EXPECT_NE(text_of(every_type(), exact, false).find("(malformed)"), std::string::npos) << size;
  }
}

TEST(EventDecoder, PaddingIsOfShortRecordsOnly) {
  Tracepoint point{.kind = 16, .name = "one", .fields = {{FieldType::kInt8, "n"}}};
  EXPECT_EQ(text_of(point, std::string("\x05\0\0\0", 4), false), "one n=5");
  EXPECT_EQ(text_of(point, std::string("\x05\0\0\0", 4), true), "one n=5 (malformed)");
}

TEST(EventDecoder, TextsAreMadeHarmless) {
  Tracepoint point{.kind = 16, .name = "a\x1b[0m", .fields = {{FieldType::kString, "k\n"}, {FieldType::kBytes, "b"}}};
  EXPECT_EQ(text_of(point, sized("q\"\\\x07\xff\u00e9", true) + sized("", true)),
            "a\\x1b[0m k\\x0a=\"q\\\"\\\\\\x07\\xff\u00e9\"... b=0x...");
}

TEST(EventDecoder, AnythingIsAPayload) {
  std::mt19937_64 random(3);
  Tracepoint point = every_type();
  for (int round = 0; round < 2000; ++round) {
    std::shuffle(point.fields.begin(), point.fields.end(), random);
    std::string payload(random() % 80, '\0');
    for (char& byte : payload) byte = static_cast<char>(random());
    EXPECT_FALSE(text_of(point, payload).empty());
  }
}

}  // namespace
}  // namespace fathom::agent
