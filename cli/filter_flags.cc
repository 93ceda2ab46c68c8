#include "cli/filter_flags.h"

#include <algorithm>
#include <utility>

#include "base/time.h"
#include "cli/text.h"

namespace fathom::cli {

namespace {

Result<uint64_t> instant_of(const Args& args, const std::string& flag, uint64_t otherwise, uint64_t now_unix_nano) {
  auto text = args.given(flag);
  if (!text) return otherwise;
  Result<uint64_t> instant = parse_instant_unix_nano(*text, now_unix_nano);
  if (!instant) return invalid(flag + ": " + instant.error().message);
  return instant;
}

Result<> add_absolute(Target& target, const Args& args, uint64_t now_unix_nano) {
  Result<uint64_t> from = instant_of(args, "--from", 0, now_unix_nano);
  if (!from) return from.error();
  Result<uint64_t> to = instant_of(args, "--to", UINT64_MAX, now_unix_nano);
  if (!to) return to.error();
  if (*from > *to) return invalid("--from must not be after --to");
  // In full, because a bare count of nanoseconds near 1970 would be read as seconds.
  target.add("from", format_instant(*from));
  if (args.has("--to")) target.add("to", format_instant(*to));
  return {};
}

Result<> add_since(Target& target, const Args& args, uint64_t now_unix_nano) {
  Result<uint64_t> since = args.duration_nano("--since");
  if (!since) return since.error();
  target.add("from", format_instant(now_unix_nano - std::min(*since, now_unix_nano)));
  target.add("to", format_instant(now_unix_nano));  // senders' clocks may be ahead; later pages come later
  return {};
}

Result<uint64_t> duration_flag(const Args& args, const char* flag, uint64_t otherwise) {
  if (!args.given(flag)) return otherwise;
  return args.duration_nano(flag);
}

Result<> add_durations(Target& target, const Args& args) {
  Result<uint64_t> least = duration_flag(args, "--min-duration", 0);
  if (!least) return least.error();
  Result<uint64_t> most = duration_flag(args, "--max-duration", UINT64_MAX);
  if (!most) return most.error();
  if (*least > *most) return invalid("--min-duration must not be greater than --max-duration");
  if (args.has("--min-duration")) target.add("min_duration", std::to_string(*least) + "ns");
  if (args.has("--max-duration")) target.add("max_duration", std::to_string(*most) + "ns");
  return {};
}

}  // namespace

std::vector<Flag> range_flags() {
  return {
      {"--since", "D", "the time before now, like 15m, 1h, 7d", "1h"},
      {"--from", "T",
       "from this time on: 2026-11-21T02:00:00Z, 2026-11-21T02:00 or 2026-11-21 (UTC unless an offset follows), Unix "
       "seconds (1795226400.5) to nanoseconds, or now-15m"},
      {"--to", "T", "up to but not including this time"}};
}

Result<> add_range(Target& target, const Args& args, uint64_t now_unix_nano) {
  bool absolute = args.has("--from") || args.has("--to");
  if (absolute && args.has("--since")) return invalid("--since and --from/--to exclude each other");
  return absolute ? add_absolute(target, args, now_unix_nano) : add_since(target, args, now_unix_nano);
}

std::string further_back(const Args& args) {
  if (args.has("--from") || args.has("--to")) return "";
  constexpr uint64_t kNanosPerDay = 24 * kNanosPerHour;
  const Result<uint64_t> since_nano = args.duration_nano("--since");
  for (const auto& [text, duration_nano] : {std::pair("1d", kNanosPerDay), std::pair("7d", 7 * kNanosPerDay)}) {
    if (since_nano && *since_nano < duration_nano) return std::string("; --since ") + text + " looks further back";
  }
  return "";
}

std::vector<Flag> operation_flags() {
  return {{"--service", "S", "only this service"}, {"--operation", "O", "only this operation (the span's name)"}};
}

Result<> add_operation(Target& target, const Args& args) {
  for (const char* flag : {"--service", "--operation"}) {
    auto name = args.given(flag);
    if (!name) continue;
    // Usually a script's variable that is not set; to answer for all of them would mislead.
    if (name->empty()) return invalid(std::string(flag) + ": the name is empty");
    target.add(flag + 2, *name);
  }
  return {};
}

std::vector<Flag> condition_flags() {
  return {{"--where", "CONDITION",
           "a span whose attribute, its own or its resource's, is so; all of them must hold on one span. KEY=VALUE; "
           "KEY!=VALUE, with other values alone; KEY>N, KEY>=N, KEY<N, KEY<=N, of numbers; KEY, has it; !KEY, lacks "
           "it. Numbers match however they are written (3, 3.0, 3e0). In double quotes KEY and VALUE may hold "
           "anything: '\"a=b\"=\"x > y\"'",
           "", true},
          {"--errors", "", "a span with an error status"},
          {"--min-duration", "D", "no shorter than this, like 250ms"},
          {"--max-duration", "D", "no longer than this"}};
}

Result<> add_conditions(Target& target, const Args& args) {
  for (const std::string& condition : args.all("--where")) {
    // All others the server reads, or says how they are written; to it an empty one is none.
    if (condition.empty()) return invalid("--where: there is no condition, like http.status_code=500");
    target.add("where", condition);
  }
  if (args.has("--errors")) target.add("errors", "true");
  return add_durations(target, args);
}

Flag format_flag(const std::string& human) {
  return {"--format", human + "|json", human + " for people, json for programs", human};
}

Result<std::string> format_of(const Args& args, const std::string& human) {
  return args.one_of("--format", {human, "json"});
}

std::vector<Flag> join(std::initializer_list<std::vector<Flag>> lists) {
  std::vector<Flag> all;
  for (const std::vector<Flag>& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

}  // namespace fathom::cli
