#include "base/time.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <optional>

namespace fathom {

namespace {

using Wide = unsigned __int128;  // so that products of counts and units are checked, not wrapped
using WideInstant = __int128;    // Unix nanoseconds of any instant that can be written down

constexpr uint64_t kNanosPerDay = 24 * kNanosPerHour;

struct Unit {
  std::string_view name;
  uint64_t nanos;
};

constexpr std::array<Unit, 10> kUnits{{{"ns", 1},
                                       {"us", 1'000},
                                       {"\u00b5s", 1'000},  // micro sign
                                       {"\u03bcs", 1'000},  // Greek mu: what other keyboards produce
                                       {"ms", 1'000'000},
                                       {"s", kNanosPerSecond},
                                       {"m", kNanosPerMinute},
                                       {"h", kNanosPerHour},
                                       {"d", kNanosPerDay},
                                       {"w", 7 * kNanosPerDay}}};

uint64_t read_clock(clockid_t clock) {
  timespec at{};
  clock_gettime(clock, &at);
  return static_cast<uint64_t>(at.tv_sec) * kNanosPerSecond + static_cast<uint64_t>(at.tv_nsec);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view take_digits(std::string_view& text) {
  size_t size = 0;
  while (size < text.size() && is_digit(text[size])) ++size;
  std::string_view digits = text.substr(0, size);
  text.remove_prefix(size);
  return digits;
}

std::optional<uint64_t> to_number(std::string_view digits) {
  Wide value = 0;
  for (char c : digits) {
    value = value * 10 + static_cast<unsigned>(c - '0');
    if (value > UINT64_MAX) return std::nullopt;
  }
  return static_cast<uint64_t>(value);
}

// What ".25" of a unit is, exactly, rounded down; digits past the eighteenth cannot matter.
uint64_t fraction_of(std::string_view digits, uint64_t unit_nanos) {
  Wide value = 0;
  Wide scale = 1;
  for (char c : digits.substr(0, 18)) {
    value = value * 10 + static_cast<unsigned>(c - '0');
    scale *= 10;
  }
  return static_cast<uint64_t>(value * unit_nanos / scale);
}

std::optional<uint64_t> take_unit(std::string_view& text) {
  size_t size = 0;
  while (size < text.size() && !is_digit(text[size]) && text[size] != '.') ++size;
  std::string_view name = text.substr(0, size);
  auto unit = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& one) { return one.name == name; });
  if (unit == kUnits.end()) return std::nullopt;
  text.remove_prefix(size);
  return unit->nanos;
}

// One "2.5s" off the front of `text`.
std::optional<Wide> take_term(std::string_view& text) {
  std::string_view whole = take_digits(text);
  std::string_view fraction;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = take_digits(text);
    if (fraction.empty()) return std::nullopt;
  }
  auto count = to_number(whole);
  auto unit = take_unit(text);
  if (whole.empty() || !count || !unit) return std::nullopt;
  return static_cast<Wide>(*count) * *unit + fraction_of(fraction, *unit);
}

Error bad_duration(std::string_view text) {
  return invalid("'" + std::string(text) +
                 "' is not a duration: write a number and a unit, like 250ms, 2.5s, 1h30m, 7d");
}

Error bad_instant(std::string_view text) {
  return invalid(
      "'" + std::string(text) +
      "' is not a time: write 2026-11-21T02:00:00Z, 2026-11-21, Unix seconds to nanoseconds, now, or now-15m");
}

// A time, but none that 64 bits of Unix nanoseconds can hold.
Error out_of_reach(std::string_view text, WideInstant instant) {
  std::string quoted = "'" + std::string(text) + "'";
  if (instant < 0) return invalid(quoted + " is before 1970, where Unix time begins");
  return invalid(quoted + " is too late: Unix nanoseconds end within the year 2554, at " + format_instant(UINT64_MAX));
}

struct Scale {
  uint64_t nanos;
  const char* unit;
};

// Three significant digits, without the zeros that say nothing: "1.24 s", "312 ms", "2 s".
std::string three_digits(uint64_t duration_nano, Scale scale) {
  double value = static_cast<double>(duration_nano) / static_cast<double>(scale.nanos);
  int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  char buffer[32];
  int size = std::snprintf(buffer, sizeof buffer, "%.*f", decimals, value);
  std::string text(buffer, static_cast<size_t>(size));
  if (decimals > 0) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text + " " + scale.unit;
}

// "1 h 05 min": two neighbouring units, the smaller rounded.
std::string two_units(uint64_t duration_nano, Scale large, Scale small) {
  uint64_t smalls = duration_nano / small.nanos + (duration_nano % small.nanos >= small.nanos / 2 ? 1 : 0);
  uint64_t per_large = large.nanos / small.nanos;
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%llu %s %02llu %s", static_cast<unsigned long long>(smalls / per_large),
                large.unit, static_cast<unsigned long long>(smalls % per_large), small.unit);
  return buffer;
}

// Reads the fixed-width parts of RFC 3339; any mismatch makes it fail for good.
class Rfc3339 {
 public:
  explicit Rfc3339(std::string_view text) : rest_(text) {}

  int number(size_t width) {
    std::string_view digits = rest_.substr(0, width);
    if (digits.size() != width || !std::all_of(digits.begin(), digits.end(), is_digit)) return fail();
    rest_.remove_prefix(width);
    return static_cast<int>(*to_number(digits));
  }
  char one_of(std::string_view choices) {
    if (rest_.empty() || choices.find(rest_.front()) == std::string_view::npos) return static_cast<char>(fail());
    char found = rest_.front();
    rest_.remove_prefix(1);
    return found;
  }
  bool at(char c) const { return rest_.starts_with(c); }
  bool at_end() const { return rest_.empty(); }
  uint64_t fraction_nano() {
    if (!rest_.starts_with('.')) return 0;
    rest_.remove_prefix(1);
    std::string_view digits = take_digits(rest_);
    if (digits.empty()) fail();
    return fraction_of(digits, kNanosPerSecond);
  }
  bool done() const { return !failed_ && rest_.empty(); }

 private:
  int fail() {
    failed_ = true;
    rest_ = {};
    return 0;
  }
  std::string_view rest_;
  bool failed_ = false;
};

// Days since 1970 of a date at the front; nothing when there is no such day.
std::optional<int64_t> read_days(Rfc3339& reader) {
  int year = reader.number(4);
  reader.one_of("-");
  int month = reader.number(2);
  reader.one_of("-");
  int day = reader.number(2);
  std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                   std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count();
}

std::optional<int64_t> read_second_of_day(Rfc3339& reader, bool& has_seconds) {
  int hour = reader.number(2);
  reader.one_of(":");
  int minute = reader.number(2);
  int second = 0;
  has_seconds = reader.at(':');
  if (has_seconds) {
    reader.one_of(":");
    second = reader.number(2);
  }
  if (hour > 23 || minute > 59 || second > 60) return std::nullopt;  // 60: a leap second
  return (hour * 60 + minute) * 60 + second;
}

std::optional<int64_t> read_offset_seconds(Rfc3339& reader) {
  if (reader.at_end()) return 0;  // UTC, as all that fathom prints
  char sign = reader.one_of("Zz+- ");
  if (sign == 'Z' || sign == 'z') return 0;
  int hour = reader.number(2);
  reader.one_of(":");
  int minute = reader.number(2);
  if (hour > 23 || minute > 59) return std::nullopt;
  int64_t seconds = (hour * 60 + minute) * 60;
  return sign == '-' ? -seconds : seconds;
}

struct TimeOfDay {
  int64_t seconds = 0;  // offset included
  uint64_t fraction_nano = 0;
};

std::optional<TimeOfDay> read_time_of_day(Rfc3339& reader) {
  reader.one_of("Tt ");
  bool has_seconds = false;
  auto second = read_second_of_day(reader, has_seconds);
  uint64_t fraction = has_seconds ? reader.fraction_nano() : 0;
  auto offset = read_offset_seconds(reader);
  if (!second || !offset) return std::nullopt;
  return TimeOfDay{*second - *offset, fraction};
}

std::optional<WideInstant> parse_rfc3339(std::string_view text) {
  Rfc3339 reader(text);
  auto days = read_days(reader);
  auto time = reader.at_end() ? TimeOfDay{} : read_time_of_day(reader);
  if (!reader.done() || !days || !time) return std::nullopt;
  return static_cast<WideInstant>(*days * 86'400 + time->seconds) * kNanosPerSecond + time->fraction_nano;
}

// Seconds reach the year 5138 before they look like milliseconds, and so on upwards.
std::optional<WideInstant> parse_unix_count(std::string_view digits) {
  auto count = to_number(digits);
  if (!count) return WideInstant{UINT64_MAX} + 1;  // too late in any unit
  if (*count < 100'000'000'000) return static_cast<WideInstant>(*count) * kNanosPerSecond;
  if (*count < 100'000'000'000'000) return static_cast<WideInstant>(*count) * 1'000'000;
  if (*count < 100'000'000'000'000'000) return static_cast<WideInstant>(*count) * 1'000;
  return *count;
}

// "1795226400.5": what date +%s.%N and most languages' clocks say.
std::optional<WideInstant> parse_unix_seconds(std::string_view text) {
  auto count = to_number(take_digits(text));
  if (!count || *count >= 100'000'000'000 || text.size() < 2) return std::nullopt;
  std::string_view fraction = text.substr(1);
  if (!std::all_of(fraction.begin(), fraction.end(), is_digit)) return std::nullopt;
  return static_cast<WideInstant>(*count) * kNanosPerSecond + fraction_of(fraction, kNanosPerSecond);
}

std::optional<WideInstant> parse_absolute(std::string_view text) {
  std::string_view rest = text;
  bool starts_as_count = !take_digits(rest).empty();
  if (starts_as_count && rest.empty()) return parse_unix_count(text);
  return starts_as_count && rest.front() == '.' ? parse_unix_seconds(text) : parse_rfc3339(text);
}

Result<uint64_t> parse_relative(std::string_view text, uint64_t now_unix_nano) {
  std::string_view rest = text.substr(3);
  if (rest.empty()) return now_unix_nano;
  bool later = rest.front() == '+' || rest.front() == ' ';
  if (!later && rest.front() != '-') return bad_instant(text);
  Result<uint64_t> distance = parse_duration_nano(rest.substr(1));
  if (!distance) return bad_instant(text);
  if (later) return now_unix_nano + std::min(*distance, UINT64_MAX - now_unix_nano);
  return now_unix_nano - std::min(*distance, now_unix_nano);
}

}  // namespace

uint64_t now_unix_nano() {
  return read_clock(CLOCK_REALTIME);
}
uint64_t now_monotonic_nano() {
  return read_clock(CLOCK_MONOTONIC);
}

uint64_t now_boottime_nano() {
  return read_clock(CLOCK_BOOTTIME);
}

Result<uint64_t> parse_duration_nano(std::string_view text) {
  std::string_view rest = text;
  Wide total = 0;
  do {
    auto term = take_term(rest);
    if (!term) return bad_duration(text);
    total += *term;
    if (total > UINT64_MAX) return bad_duration(text);
  } while (!rest.empty());
  return static_cast<uint64_t>(total);
}

std::string format_duration(uint64_t duration_nano) {
  // A unit is left a little before it is full, where three digits would round up to "1000".
  if (duration_nano < 1'000) return std::to_string(duration_nano) + " ns";
  if (duration_nano < 999'500) return three_digits(duration_nano, {1'000, "us"});
  if (duration_nano < 999'500'000) return three_digits(duration_nano, {1'000'000, "ms"});
  if (duration_nano < kNanosPerMinute - 50'000'000) return three_digits(duration_nano, {kNanosPerSecond, "s"});
  if (duration_nano < kNanosPerHour - kNanosPerSecond / 2) {
    return two_units(duration_nano, {kNanosPerMinute, "min"}, {kNanosPerSecond, "s"});
  }
  if (duration_nano < kNanosPerDay - kNanosPerMinute / 2) {
    return two_units(duration_nano, {kNanosPerHour, "h"}, {kNanosPerMinute, "min"});
  }
  return two_units(duration_nano, {kNanosPerDay, "d"}, {kNanosPerHour, "h"});
}

Result<uint64_t> parse_instant_unix_nano(std::string_view text, uint64_t now_unix_nano) {
  if (text.starts_with("now")) return parse_relative(text, now_unix_nano);
  auto instant = parse_absolute(text);
  if (!instant) return bad_instant(text);
  if (*instant < 0 || *instant > UINT64_MAX) return out_of_reach(text, *instant);
  return static_cast<uint64_t>(*instant);
}

std::string format_instant(uint64_t unix_nano) {
  uint64_t seconds = unix_nano / kNanosPerSecond;
  std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(seconds / 86'400))};
  unsigned second_of_day = static_cast<unsigned>(seconds % 86'400);
  char buffer[64];
  int size =
      std::snprintf(buffer, sizeof buffer, "%04d-%02u-%02uT%02u:%02u:%02u.%09uZ", static_cast<int>(date.year()),
                    static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), second_of_day / 3600,
                    second_of_day / 60 % 60, second_of_day % 60, static_cast<unsigned>(unix_nano % kNanosPerSecond));
  return std::string(buffer, static_cast<size_t>(size));
}

}  // namespace fathom
