#include "base/time.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

constexpr uint64_t kNow = 1'795'226'400 * kNanosPerSecond;  // 2026-11-21T02:00:00Z

uint64_t duration(std::string_view text) {
  Result<uint64_t> parsed = parse_duration_nano(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.ok() ? *parsed : UINT64_MAX;
}

uint64_t instant(std::string_view text) {
  Result<uint64_t> parsed = parse_instant_unix_nano(text, kNow);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.ok() ? *parsed : UINT64_MAX;
}

TEST(Duration, EveryUnit) {
  EXPECT_EQ(duration("7ns"), 7u);
  EXPECT_EQ(duration("10us"), 10'000u);
  EXPECT_EQ(duration("10\u00b5s"), 10'000u);
  EXPECT_EQ(duration("10\u03bcs"), 10'000u);
  EXPECT_EQ(duration("250ms"), 250'000'000u);
  EXPECT_EQ(duration("3s"), 3 * kNanosPerSecond);
  EXPECT_EQ(duration("2m"), 2 * kNanosPerMinute);
  EXPECT_EQ(duration("1h"), kNanosPerHour);
  EXPECT_EQ(duration("7d"), 7 * 24 * kNanosPerHour);
  EXPECT_EQ(duration("1w"), duration("7d"));
  EXPECT_EQ(duration("0s"), 0u);
}

TEST(Duration, FractionsAreExactAndTermsAddUp) {
  EXPECT_EQ(duration("2.5s"), 2'500'000'000u);
  EXPECT_EQ(duration("0.1s"), 100'000'000u);
  EXPECT_EQ(duration("1.0000000001s"), kNanosPerSecond);
  EXPECT_EQ(duration("0.3333333333333333333333333s"), 333'333'333u);
  EXPECT_EQ(duration("1h30m"), 90 * kNanosPerMinute);
  EXPECT_EQ(duration("1m2s3ms"), 62'003'000'000u);
}

TEST(Duration, RefusesWhatItWouldHaveToGuess) {
  for (const char* text :
       {"", "10", "1h30", "s", ".5s", "1.s", "-1s", "1 s", "1S", "1sec", "5e3s", "1.2.3s", "1h 30m"}) {
    Result<uint64_t> parsed = parse_duration_nano(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid);
    EXPECT_NE(parsed.error().message.find("like 250ms"), std::string::npos);
  }
}

TEST(Duration, RefusesOverflow) {
  EXPECT_EQ(duration("18446744073709551615ns"), UINT64_MAX);
  EXPECT_FALSE(parse_duration_nano("18446744073709551616ns").ok());
  EXPECT_FALSE(parse_duration_nano("18446744073709551615ns1ns").ok());
  EXPECT_FALSE(parse_duration_nano("99999999999d").ok());
  EXPECT_FALSE(parse_duration_nano("99999999999999999999999999999999999999999999s").ok());
}

TEST(Duration, ReadsWell) {
  EXPECT_EQ(format_duration(0), "0 ns");
  EXPECT_EQ(format_duration(730), "730 ns");
  EXPECT_EQ(format_duration(1'000), "1 us");
  EXPECT_EQ(format_duration(48'100), "48.1 us");
  EXPECT_EQ(format_duration(312'000'000), "312 ms");
  EXPECT_EQ(format_duration(300'000'000), "300 ms");
  EXPECT_EQ(format_duration(1'240'000'000), "1.24 s");
  EXPECT_EQ(format_duration(1'200'000'000), "1.2 s");
  EXPECT_EQ(format_duration(10 * kNanosPerSecond), "10 s");
}

TEST(Duration, RoundsIntoTheNextUnitNotToAThousand) {
  EXPECT_EQ(format_duration(999'499), "999 us");
  EXPECT_EQ(format_duration(999'500), "1 ms");
  EXPECT_EQ(format_duration(9'996'000), "10 ms");
  EXPECT_EQ(format_duration(99'960'000), "100 ms");
  EXPECT_EQ(format_duration(999'999'999), "1 s");
  EXPECT_EQ(format_duration(59'940'000'000), "59.9 s");
  EXPECT_EQ(format_duration(59'960'000'000), "1 min 00 s");
}

TEST(Duration, LongOnesUseTwoUnits) {
  EXPECT_EQ(format_duration(72 * kNanosPerSecond), "1 min 12 s");
  EXPECT_EQ(format_duration(kNanosPerHour - 1), "1 h 00 min");
  EXPECT_EQ(format_duration(65 * kNanosPerMinute), "1 h 05 min");
  EXPECT_EQ(format_duration(24 * kNanosPerHour - 1), "1 d 00 h");
  EXPECT_EQ(format_duration(51 * kNanosPerHour), "2 d 03 h");
  EXPECT_EQ(format_duration(UINT64_MAX), "213504 d 00 h");
}

TEST(Instant, Rfc3339) {
  EXPECT_EQ(instant("2026-11-21T02:00:00Z"), kNow);
  EXPECT_EQ(instant("2026-11-21t02:00:00z"), kNow);
  EXPECT_EQ(instant("2026-11-21 02:00:00Z"), kNow);
  EXPECT_EQ(instant("2026-11-21T02:00:00.5Z"), kNow + kNanosPerSecond / 2);
  EXPECT_EQ(instant("2026-11-21T02:00:00.123456789Z"), kNow + 123'456'789);
  EXPECT_EQ(instant("2026-11-21T03:30:00+01:30"), kNow);
  EXPECT_EQ(instant("2026-11-20T18:00:00-08:00"), kNow);
  EXPECT_EQ(instant("1970-01-01T00:00:00Z"), 0u);
  EXPECT_EQ(instant("2024-02-29T00:00:00Z"), 1'709'164'800 * kNanosPerSecond);
  EXPECT_EQ(instant("2016-12-31T23:59:60Z"), instant("2017-01-01T00:00:00Z"));
}

TEST(Instant, PartsOfItMayBeLeftOut) {
  EXPECT_EQ(instant("2026-11-21"), kNow - 2 * kNanosPerHour);
  EXPECT_EQ(instant("2026-11-21T02:00"), kNow);
  EXPECT_EQ(instant("2026-11-21 02:00"), kNow);
  EXPECT_EQ(instant("2026-11-21T02:00Z"), kNow);
  EXPECT_EQ(instant("2026-11-21T02:00:00"), kNow);
  EXPECT_EQ(instant("2026-11-21T02:00:00.5"), kNow + kNanosPerSecond / 2);
  EXPECT_EQ(instant("2026-11-21T03:30+01:30"), kNow);
}

TEST(Instant, APlusMayHaveArrivedAsASpace) {
  EXPECT_EQ(instant("2026-11-21T03:30:00 01:30"), kNow);
  EXPECT_EQ(instant("2026-11-21T03:30 01:30"), kNow);
  EXPECT_EQ(instant("2026-11-21 03:30:00.5 01:30"), kNow + kNanosPerSecond / 2);
  EXPECT_EQ(instant("now 1h"), kNow + kNanosPerHour);
}

TEST(Instant, UnixSecondsMayHaveAFraction) {
  EXPECT_EQ(instant("1795226400.5"), kNow + kNanosPerSecond / 2);
  EXPECT_EQ(instant("1795226400.000000001"), kNow + 1);
  EXPECT_EQ(instant("1795226400.0000000019"), kNow + 1);
  EXPECT_EQ(instant("0.5"), kNanosPerSecond / 2);
  EXPECT_EQ(instant("18446744073.709551615"), UINT64_MAX);
  EXPECT_FALSE(parse_instant_unix_nano("18446744073.709551616", kNow).ok());
}

TEST(Instant, CountsByMagnitude) {
  EXPECT_EQ(instant("1795226400"), kNow);
  EXPECT_EQ(instant("1795226400000"), kNow);
  EXPECT_EQ(instant("1795226400000000"), kNow);
  EXPECT_EQ(instant("1795226400000000001"), kNow + 1);
  EXPECT_EQ(instant("0"), 0u);
}

TEST(Instant, RelativeToNow) {
  EXPECT_EQ(instant("now"), kNow);
  EXPECT_EQ(instant("now-15m"), kNow - 15 * kNanosPerMinute);
  EXPECT_EQ(instant("now+1h"), kNow + kNanosPerHour);
  EXPECT_EQ(instant("now-200000d"), 0u);
  EXPECT_EQ(instant("now+200000d"), UINT64_MAX);
}

TEST(Instant, RefusesWhatIsNoTime) {
  for (const char* text : {"",
                           "yesterday",
                           "now-",
                           "now15m",
                           "now-15",
                           "2026-11-21T",
                           "2026-11-21Z",
                           "2026-11-21T02",
                           "2026-11-21T02:",
                           "2026-11-21T02:00.5",
                           "2026-11-21T02:00:00 ",
                           "2026-11-21T02:00:00 1",
                           "2026-11-21T02:00 01:00Z",
                           "2026-02-30",
                           "1795226400.",
                           "1795226400.5s",
                           "1795226400.5.5",
                           ".5",
                           "1795226400000.5",
                           "2026-02-30T00:00:00Z",
                           "2026-13-01T00:00:00Z",
                           "2026-11-21T24:00:00Z",
                           "2026-11-21T02:61:00Z",
                           "2026-11-21T02:00:00.Z",
                           "2026-11-21T02:00:00Zx",
                           "2026-11-21T02:00:00+1:00",
                           "-5"}) {
    Result<uint64_t> parsed = parse_instant_unix_nano(text, kNow);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid);
    EXPECT_NE(parsed.error().message.find("now-15m"), std::string::npos) << parsed.error().message;
  }
}

TEST(Instant, SaysWhenATimeIsOutOfReach) {
  for (const char* text : {"9999-12-31T23:59:59Z", "2554-07-22", "18446744073709551616", "99999999999", "99999999999.5",
                           "99999999999999", "99999999999999999999999999999999999999999999"}) {
    Result<uint64_t> parsed = parse_instant_unix_nano(text, kNow);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(parsed.error().message, "'" + std::string(text) +
                                          "' is too late: Unix nanoseconds end within the year 2554, at "
                                          "2554-07-21T23:34:33.709551615Z");
  }
  EXPECT_EQ(parse_instant_unix_nano("1969-12-31T23:59:59Z", kNow).error().message,
            "'1969-12-31T23:59:59Z' is before 1970, where Unix time begins");
}

TEST(Instant, FormatsBackAndForth) {
  EXPECT_EQ(format_instant(kNow + 42), "2026-11-21T02:00:00.000000042Z");
  EXPECT_EQ(format_instant(0), "1970-01-01T00:00:00.000000000Z");
  for (uint64_t at : {uint64_t{0}, uint64_t{1}, kNow, kNow + 999'999'999, UINT64_MAX}) {
    EXPECT_EQ(instant(format_instant(at)), at);
  }
}

TEST(Clocks, AreThemselves) {
  uint64_t before = now_monotonic_nano();
  EXPECT_GE(now_monotonic_nano(), before);
  EXPECT_GT(now_unix_nano(), instant("2024-01-01T00:00:00Z"));
}

}  // namespace
}  // namespace fathom
