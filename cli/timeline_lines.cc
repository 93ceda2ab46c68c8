#include "cli/timeline_lines.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/time.h"
#include "cli/api.h"
#include "cli/text.h"
#include "cli/timeline_fit.h"
#include "cli/value_text.h"
#include "cli/wait_text.h"

namespace fathom::cli {

namespace {

constexpr std::array<std::string_view, 7> kStates = {"running", "runnable", "sleeping", "uninterruptible",
                                                     "blocked", "stopped",  "unknown"};
constexpr uint64_t kShortNano = 10 * kNanosPerMilli;
constexpr uint64_t kSmallNumber = 65'536;  // beyond it an argument is mostly an address, or flags

std::string hex_text(uint64_t number) {
  char digits[16];
  auto end = std::to_chars(digits, digits + sizeof digits, number, 16).ptr;
  return "0x" + std::string(digits, end);
}

std::string argument_text(const boost::json::value& argument) {
  boost::json::value holder = boost::json::object{{"n", argument}};
  uint64_t number = number_of(holder, "n");
  return number < kSmallNumber ? std::to_string(number) : hex_text(number);
}

std::string result_text(const boost::json::value& call) {
  if (flag_of(call, "under_way")) return " ... not over yet";
  std::string error = text_of(call, "error");
  if (!error.empty()) return " = " + printable(error);
  int64_t result = signed_of(call, "result");
  bool address = result < 0 || result > int64_t{1} << 32;
  return " = " + (address ? hex_text(static_cast<uint64_t>(result)) : std::to_string(result));
}

// The operation replaces the second argument.
std::string arguments_text(const boost::json::value& call) {
  const std::string operation = text_of(call, "operation");
  std::string text;
  size_t number = 0;
  for (const boost::json::value& argument : array_of(call, "arguments")) {
    const bool decoded = number == 1 && !operation.empty();
    text += (number == 0 ? "" : ", ") + (decoded ? printable(operation) : argument_text(argument));
    ++number;
  }
  return text;
}

// If the begin is unknown, the arguments are missing.
std::string call_head(const boost::json::value& call) {
  std::string name = text_of(call, "name");
  std::string text = name.empty() ? "system call " + std::to_string(number_of(call, "number")) : printable(name);
  return text + "(" + (flag_of(call, "begin_unknown") ? "..." : arguments_text(call)) + ")";
}

std::string call_text(const boost::json::value& call) {
  return call_head(call) + result_text(call) + (flag_of(call, "begin_unknown") ? "  [begun before]" : "");
}

TimelineLine line_of(TimelineLineKind kind, const boost::json::value& item, std::string text) {
  TimelineLine line{.kind = kind, .offset_nano = signed_of(item, "offset_nano"), .text = std::move(text)};
  bool moment = kind == TimelineLineKind::kEvent || kind == TimelineLineKind::kFault;
  if (!moment) line.duration_nano = number_of(item, "duration_nano");
  return line;
}

TimelineLine span_line(const boost::json::value& span) {
  std::string text = name_text(text_of(span, "operation"));
  std::string kind = text_of(span, "kind");
  if (kind != "internal" && kind != "unspecified" && !kind.empty()) text += "  [" + printable(kind) + "]";
  if (flag_of(span, "thread_guessed")) text += "  [thread guessed]";
  if (const uint64_t end_tid = number_of(span, "end_tid"); end_tid != 0) {
    text += "  [from thread " + std::to_string(number_of(span, "start_tid")) + " to " + std::to_string(end_tid) + "]";
  }
  TimelineLine line = line_of(TimelineLineKind::kSpan, span, text);
  line.open = flag_of(span, "open");
  line.error = text_of(span, "status") == "error";
  if (line.error) line.text += "  [error]";
  std::string totals = totals_text(span);
  std::string id = "span " + printable(text_of(span, "span_id"));
  if (std::string trace = text_of(span, "trace_id"); !trace.empty()) id += " of trace " + printable(trace);
  const bool moved = number_of(span, "end_tid") != 0;
  if (moved && !totals.empty()) totals.insert(0, "this thread, also while the span was on the other one: ");
  line.below.push_back(totals.empty() ? id : id + ": " + totals);
  for (std::string& wait : wait_lines(span)) line.below.push_back(std::move(wait));
  return line;
}

TimelineLine event_line(const boost::json::value& event) {
  std::string text = name_text(text_of(event, "name"));
  const boost::json::value& values = member_of(event, "values");
  if (values.is_object()) {
    for (const auto& [key, value] : values.get_object()) {
      text += "  " + printable({key.data(), key.size()}) + "=" + short_value_text(value);
    }
  }
  if (flag_of(event, "cut")) text += "  (cut)";
  if (std::string trace = text_of(event, "trace_id"); !trace.empty()) {
    text += "  [trace " + printable(trace) + "]";
  } else if (flag_of(event, "other_request")) {
    text += "  [another request]";
  }
  if (flag_of(event, "span_uncertain")) text += "  [span uncertain]";
  return line_of(TimelineLineKind::kEvent, event, text);
}

std::string waited_text(const boost::json::value& call) {
  std::string text;
  for (const std::string& wait : most_waits(call)) text += (text.empty() ? "  " : "; ") + wait;
  const uint64_t unknown_nano = number_of(member_of(call, "state_totals"), "unknown_nano");
  if (!text.empty() || unknown_nano == 0) return text;
  return "  unknown whether it slept for " + format_duration(unknown_nano);
}

// Takes the most expensive kind of wait in a call; without sums, the longest wait.
void set_wait(Repeat& repeat, const boost::json::value& call) {
  const boost::json::array& sums = array_of(call, "waits");
  const boost::json::value& longest = member_of(call, "longest_wait");
  if (!sums.empty()) {
    repeat.wait = wait_words(sums.front());
    repeat.waited = totals_of_sum(sums.front());
  } else if (longest.is_object()) {
    repeat.wait = wait_words(longest);
    repeat.waited = totals_of_wait(longest);
  } else {
    repeat.unknown_nano = number_of(member_of(call, "state_totals"), "unknown_nano");
  }
}

std::optional<Repeat> repeat_of_call(const boost::json::value& call) {
  if (flag_of(call, "under_way") || flag_of(call, "begin_unknown")) return std::nullopt;
  const uint64_t nano = number_of(call, "duration_nano");
  Repeat repeat{.head = call_head(call), .result = result_text(call), .error = text_of(call, "error")};
  repeat.lasted = {.count = 1, .total_nano = nano, .longest_nano = nano};
  set_wait(repeat, call);
  return repeat;
}

TimelineLine call_line(const boost::json::value& call) {
  TimelineLine line = line_of(TimelineLineKind::kCall, call, call_text(call) + waited_text(call));
  line.error = !text_of(call, "error").empty();
  line.repeat = repeat_of_call(call);
  return line;
}

TimelineLine wait_line(const boost::json::value& state) {
  TimelineLine line = line_of(TimelineLineKind::kWait, state, "(" + wait_text(state) + ")");
  line.repeat = Repeat{.wait = wait_words(state), .lasted = totals_of_wait(state)};
  return line;
}

TimelineLine fault_line(const boost::json::value& fault) {
  uint64_t address = number_of(fault, "address");
  bool write = flag_of(fault, "write");
  std::string text = "page fault at " + hex_text(address);
  text += write ? " (write)" : flag_of(fault, "execution") ? " (execution)" : " (read)";
  TimelineLine line = line_of(TimelineLineKind::kFault, fault, text);
  line.faults = {1, write ? 1U : 0U, address, address};
  return line;
}

// What the server did not send.
TimelineLine gap_line(const boost::json::value& gap) {
  std::string items = text_of(gap, "items");
  std::ranges::replace(items, '_', ' ');
  return line_of(TimelineLineKind::kGap, gap,
                 "... " + group_digits(number_of(gap, "count")) + " more " + printable(items));
}

// A wait within a system call is told by the call's line.
bool stands_alone(const boost::json::value& state) {
  std::string name = text_of(state, "state");
  std::string in = text_of(state, "in");
  return name != "running" && (in.empty() || in == "page fault");
}

struct ByTime {
  bool operator()(const TimelineLine& a, const TimelineLine& b) const {
    if (a.offset_nano != b.offset_nano) return a.offset_nano < b.offset_nano;
    return a.end_nano() != b.end_nano() ? a.end_nano() > b.end_nano() : a.kind < b.kind;
  }
};

std::vector<TimelineLine> all_lines(const boost::json::value& thread) {
  std::vector<TimelineLine> lines = span_lines(thread);
  for (const auto& event : array_of(thread, "events")) lines.push_back(event_line(event));
  for (const auto& call : array_of(thread, "system_calls")) lines.push_back(call_line(call));
  for (const auto& state : array_of(thread, "states")) {
    if (stands_alone(state)) lines.push_back(wait_line(state));
  }
  for (const auto& fault : array_of(thread, "page_faults")) lines.push_back(fault_line(fault));
  for (const auto& gap : array_of(thread, "gaps")) lines.push_back(gap_line(gap));
  std::stable_sort(lines.begin(), lines.end(), ByTime());
  return lines;
}

}  // namespace

int64_t TimelineLine::end_nano() const {
  int64_t end = 0;
  int64_t duration = static_cast<int64_t>(std::min<uint64_t>(duration_nano.value_or(0), INT64_MAX));
  return __builtin_add_overflow(offset_nano, duration, &end) ? INT64_MAX : end;
}

int64_t signed_of(const boost::json::value& object, std::string_view key) {
  const boost::json::value& value = member_of(object, key);
  if (value.is_int64()) return value.get_int64();
  return static_cast<int64_t>(std::min<uint64_t>(number_of(object, key), INT64_MAX));
}

void TimelineLine::add_faults(const TimelineLine& later) {
  faults.count += later.faults.count;
  faults.writes += later.faults.writes;
  faults.low = std::min(faults.low, later.faults.low);
  faults.high = std::max(faults.high, later.faults.high);
  duration_nano = static_cast<uint64_t>(later.offset_nano) - static_cast<uint64_t>(offset_nano);
  text = group_digits(faults.count) + " page faults at " + hex_text(faults.low) + " to " + hex_text(faults.high);
  if (faults.writes > 0) text += " (" + group_digits(faults.writes) + " of them writes)";
}

void TimelineLine::add_alike(const TimelineLine& later) {
  if (kind == TimelineLineKind::kFault) return add_faults(later);
  const int64_t end = std::max(end_nano(), later.end_nano());
  duration_nano = static_cast<uint64_t>(end) - static_cast<uint64_t>(offset_nano);
  repeat->add(*later.repeat);
  text = repeat->text();
}

OffsetDigits offset_digits(uint64_t duration_nano) {
  return duration_nano < kShortNano ? OffsetDigits::kNanos : OffsetDigits::kMicros;
}

std::string offset_text(int64_t offset_nano, OffsetDigits digits) {
  uint64_t size = offset_nano < 0 ? 0 - static_cast<uint64_t>(offset_nano) : static_cast<uint64_t>(offset_nano);
  bool nanos = digits == OffsetDigits::kNanos;
  std::string fraction = std::to_string(nanos ? size % kNanosPerMilli : size % kNanosPerMilli / 1000);
  fraction.insert(0, (nanos ? 6 : 3) - fraction.size(), '0');
  return (offset_nano < 0 ? "-" : "+") + std::to_string(size / kNanosPerMilli) + "." + fraction + " ms";
}

std::string totals_text(const boost::json::value& object) {
  const boost::json::value& totals = member_of(object, "state_totals");
  std::string text;
  uint64_t all = 0;
  for (std::string_view state : kStates) {
    uint64_t nano = number_of(totals, std::string(state) + "_nano");
    uint64_t guessed_nano = number_of(totals, std::string(state) + "_guessed_nano");
    if (nano > 0) {
      text += (text.empty() ? "" : ", ") + std::string(state_text(state)) + " " + format_duration(nano) +
              guessed_text(state, guessed_nano, nano);
    }
    all += nano;
  }
  uint64_t unknown = number_of(totals, "unknown_nano");
  if (unknown == 0 || unknown >= all) return text;
  return "seen " + format_duration(all - unknown) + " of " + format_duration(all) + ": " + text;
}

std::vector<TimelineLine> span_lines(const boost::json::value& process) {
  std::vector<TimelineLine> lines;
  for (const auto& span : array_of(process, "spans")) lines.push_back(span_line(span));
  return lines;
}

ThreadLines thread_lines(const boost::json::value& thread, size_t most) {
  return fitted(all_lines(thread), most);
}

}  // namespace fathom::cli
