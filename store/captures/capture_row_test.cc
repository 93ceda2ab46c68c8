// The rows' bytes: what was written yesterday must be read tomorrow.
#include "store/captures/capture_row.h"

#include <gtest/gtest.h>

namespace fathom::store {
namespace {

CaptureInfo full() {
  CaptureInfo info;
  info.id.bytes.fill(0x11);
  info.trace_id.bytes.fill(0x22);
  info.span_id.bytes.fill(0x33);
  info.node_id.bytes.fill(0x44);
  info.node_name = "n1";
  info.service = "cart";
  info.pid = 300;
  info.trigger = CaptureTrigger::kCrash;
  info.operation = "GET";
  info.start_unix_nano = 1000;
  info.end_unix_nano = 1200;
  info.clock = ClockOffset{-3, 5};
  info.crosses_clock_jump = true;
  info.truncated = true;
  info.losses = {{"late", 7}, {"full", 300}};
  info.received_unix_nano = 2000;
  info.size_bytes = 9;
  info.sha256.bytes.fill(0x55);
  return info;
}

CaptureInfo sparse() {
  CaptureInfo info;
  info.id.bytes.fill(0x11);
  return info;
}

std::string times(const char* byte, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += byte;
  return text;
}

Result<CaptureInfo> decoded(const std::string& value) {
  return decode_capture(capture_keys::capture(full().id), value);
}

TEST(CaptureRow, Golden) {
  // version, flags, trace, span, node, trigger, pid, three texts, start, length, clock, received, size, hash, losses
  EXPECT_EQ(to_hex(encode_capture(full())), "011f" + times("22", 16) + times("33", 8) + times("44", 16) + "06" +
                                                "ac02" + "026e31" + "0463617274" + "03474554" + "e807" + "c801" +
                                                "0505" + "d00f" + "09" + times("55", 32) + "02" + "046c61746507" +
                                                "0466756c6cac02");
  EXPECT_EQ(to_hex(encode_capture(sparse())),
            "0100" + times("00", 16) + "04" + "00" + "000000" + "0000" + "00" + "00" + times("00", 32) + "00");
}

TEST(CaptureRow, ComesBack) {
  for (const CaptureInfo& info : {full(), sparse()}) {
    Result<CaptureInfo> again = decoded(encode_capture(info));
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(*again, info);
  }
  CaptureInfo longest = full();
  longest.start_unix_nano = 0;
  longest.end_unix_nano = UINT64_MAX;
  longest.clock = ClockOffset{INT64_MIN, UINT64_MAX};
  EXPECT_EQ(decoded(encode_capture(longest)).value(), longest);
}

TEST(CaptureRow, DamageIsToldNotBelieved) {
  std::string value = encode_capture(full());
  for (size_t size = 0; size < value.size(); ++size) {
    Result<CaptureInfo> info = decoded(value.substr(0, size));
    ASSERT_FALSE(info.ok()) << size;
    EXPECT_EQ(info.error().code, ErrorCode::kCorrupt);
  }
  EXPECT_FALSE(decoded(value + '\0').ok());
  EXPECT_FALSE(decode_capture("short", value).ok());
  auto changed = [&](size_t at, char byte) {
    std::string other = value;
    other[at] = byte;
    return decoded(other).ok();
  };
  EXPECT_TRUE(changed(2, 1));
  EXPECT_FALSE(changed(0, 2)) << "another version";
  EXPECT_FALSE(changed(1, 0x3f)) << "an unknown flag";
  EXPECT_FALSE(changed(1, 0x1b)) << "a clock that is there and is not";
  EXPECT_FALSE(changed(42, 8)) << "an unknown trigger";
  CaptureInfo backwards = full();
  backwards.end_unix_nano = backwards.start_unix_nano - 1;
  EXPECT_FALSE(decoded(encode_capture(backwards)).ok());
}

TEST(CaptureRow, SizesOfContents) {
  EXPECT_EQ(decode_content_size(encode_content_size(1ULL << 40)).value(), 1ULL << 40);
  EXPECT_FALSE(decode_content_size("").ok());
  EXPECT_FALSE(decode_content_size("\x01\x01").ok());
}

TEST(CaptureRow, KeysSortByInstantThenId) {
  CaptureId low, high;
  high.bytes[0] = 0xff;
  EXPECT_LT(capture_keys::reception(1, high), capture_keys::reception(256, low));
  EXPECT_LT(capture_keys::reception(256, low), capture_keys::reception(256, high));
  EXPECT_EQ(capture_keys::instant_of(capture_keys::reception(256, high)), 256u);
  EXPECT_EQ(capture_keys::id_of(capture_keys::reception(256, high)), high);
  EXPECT_EQ(capture_keys::hash_of(capture_keys::content(full().sha256, high)), full().sha256);
  EXPECT_EQ(capture_keys::id_of("short"), CaptureId());
}

}  // namespace
}  // namespace fathom::store
