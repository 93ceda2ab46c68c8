#include "cli/wait_text.h"

#include <algorithm>
#include <string_view>

#include "base/time.h"
#include "cli/api.h"
#include "cli/text.h"
#include "cli/value_text.h"

namespace fathom::cli {

namespace {

constexpr size_t kMostKinds = 3;
constexpr std::string_view kBlocked = "blocked";

std::string process_text(const boost::json::value& waker) {
  const std::string pid = "pid " + std::to_string(number_of(waker, "pid"));
  const std::string service = text_of(waker, "service");
  return service.empty() ? pid : printable(service) + " (" + pid + ")";
}

std::string thread_text(const boost::json::value& waker) {
  const std::string text = name_text(text_of(waker, "name")) + " (" + std::to_string(number_of(waker, "tid")) + ")";
  return flag_of(waker, "other_process") ? text + " of " + process_text(waker) : text;
}

std::string waker_text(const boost::json::value& waker, bool name_of_interrupted) {
  if (!flag_of(waker, "interrupt")) return thread_text(waker);
  const std::string name = text_of(waker, "name");
  const bool named = name_of_interrupted && !name.empty();
  // The thread that ran on the processor is no cause, except that it may have sent a packet to this host.
  return named ? "an interrupt (timer, disk or network) while " + printable(name) + " ran on that cpu" : "an interrupt";
}

// Why a thread waits for a processor. The text says "preempted" alone only if no CPU quota can be the reason.
std::string cause_text(const boost::json::value& wait) {
  if (flag_of(wait, "preempted")) return ", preempted";
  const std::string throttled = text_of(wait, "throttled");
  if (throttled.empty()) return "";
  return throttled == "likely" ? ", probably throttled by a CPU quota: its processor was idle"
                               : ", preempted or throttled by a CPU quota";
}

std::string count_text(const WaitTotals& totals) {
  if (totals.count <= 1) return "";
  return ", " + group_digits(totals.count) + " times (longest " + format_duration(totals.longest_nano) + ")";
}

WaitTotals totals_of_all(const boost::json::value& object) {
  const boost::json::value& more = member_of(object, "more_waits");
  WaitTotals all{.count = number_of(more, "count"), .total_nano = number_of(more, "total_nano")};
  for (const auto& sum : array_of(object, "waits")) all.add(totals_of_sum(sum));
  return all;
}

std::vector<std::string> longest_wait(const boost::json::value& object) {
  const boost::json::value& wait = member_of(object, "longest_wait");
  if (!wait.is_object()) return {};
  const bool several = flag_of(object, "waits_left_out");
  return {wait_text(wait) + (several ? " (the longest; there are too many to add up)" : "")};
}

bool is_most(const WaitTotals& part, const WaitTotals& all) {
  return part.total_nano >= all.total_nano - all.total_nano / 10;
}

}  // namespace

void WaitTotals::add(const WaitTotals& more) {
  count += more.count;
  total_nano += more.total_nano;
  longest_nano = std::max(longest_nano, more.longest_nano);
  guessed_nano += more.guessed_nano;
}

WaitTotals totals_of_wait(const boost::json::value& state) {
  const uint64_t nano = number_of(state, "duration_nano");
  const bool guessed = flag_of(state, "guessed") && text_of(state, "state") != "unknown";
  return {1, nano, nano, guessed ? nano : 0};
}

WaitTotals totals_of_sum(const boost::json::value& sum) {
  return {number_of(sum, "count"), number_of(sum, "total_nano"), number_of(sum, "longest_nano"),
          number_of(sum, "guessed_nano")};
}

WaitWords wait_words(const boost::json::value& wait, bool name_of_interrupted) {
  const std::string in = text_of(wait, "in");
  const boost::json::value& waker = member_of(wait, "waker");
  return {printable(text_of(wait, "state")), in.empty() ? "" : " in " + printable(in),
          cause_text(wait) + (waker.is_object() ? ", woken by " + waker_text(waker, name_of_interrupted) : "")};
}

std::string wait_text(const WaitWords& words, const WaitTotals& totals) {
  return std::string(state_text(words.state)) + " " + format_duration(totals.total_nano) +
         guessed_text(words.state, totals.guessed_nano, totals.total_nano) + words.place + count_text(totals) +
         words.reason;
}

std::string wait_text(const boost::json::value& state) {
  return wait_text(wait_words(state, true), totals_of_wait(state));
}

std::vector<std::string> most_waits(const boost::json::value& object) {
  const boost::json::array& sums = array_of(object, "waits");
  if (sums.empty()) return longest_wait(object);
  const WaitTotals all = totals_of_all(object);
  std::vector<std::string> texts;
  WaitTotals told;
  for (const auto& sum : sums) {
    if (texts.size() == kMostKinds || (!texts.empty() && is_most(told, all))) break;
    texts.push_back(wait_text(wait_words(sum, true), totals_of_sum(sum)));
    told.add(totals_of_sum(sum));
  }
  if (is_most(told, all)) return texts;
  texts.push_back(group_digits(all.count - told.count) + " more, " + format_duration(all.total_nano - told.total_nano));
  return texts;
}

std::vector<std::string> wait_lines(const boost::json::value& object) {
  constexpr std::string_view kHead = "waits: ";
  std::vector<std::string> lines = most_waits(object);
  for (size_t i = 0; i < lines.size(); ++i) lines[i].insert(0, i == 0 ? kHead : std::string_view("       "));
  return lines;
}

std::string_view state_text(std::string_view state) {
  return state == kBlocked ? "sleeping or waiting" : state;
}

std::string guessed_text(std::string_view state, uint64_t guessed_nano, uint64_t nano) {
  if (guessed_nano == 0) return "";
  if (state == kBlocked) return " (beginning not seen)";
  return guessed_nano >= nano ? " (guessed)" : " (" + format_duration(guessed_nano) + " of it guessed)";
}

}  // namespace fathom::cli
