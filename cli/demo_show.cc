#include "cli/demo_show.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/time.h"
#include "cli/pages.h"
#include "cli/slowest.h"
#include "cli/text.h"
#include "cli/timeline_text.h"
#include "cli/trace_text.h"
#include "cli/trace_tree.h"

namespace fathom::cli {

namespace {

constexpr uint64_t kShownRequests = 10;
// Whose threads may be shown: of requests that took about as long, one is captured, and mostly not the first.
constexpr uint64_t kCandidates = 40;
constexpr uint64_t kServerTimeoutNano = 30 * kNanosPerSecond;
constexpr uint64_t kArrivalPatienceNano = 5 * kNanosPerSecond;
constexpr size_t kTimelineLines = 12;

// Spans are found a moment after they ended: on their way are the agent's poll and the server's disk.
Result<boost::json::array> slowest_rows(const Api& api) {
  Target target("/api/v1/slowest");
  target.add("from", format_instant(0)).add("by", "trace");
  uint64_t give_up = now_monotonic_nano() + kArrivalPatienceNano;
  while (true) {
    Result<boost::json::array> rows = fetch_pages(api, target, "rows", kCandidates);
    bool over = !rows || !rows->empty() || now_monotonic_nano() >= give_up;
    if (over) return rows;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

// What there is to see of a request's threads; more is better.
enum class Worth { kNothing, kCaptured, kThreads, kWaited, kWaitedForLock };

struct Told {
  std::string trace_id;
  boost::json::value timeline = nullptr;  // null: nothing was captured
  Worth worth = Worth::kNothing;
  size_t place = 0;  // in the list, from 0 on
};

// A wait that explains the request: half of its time.
Worth worth_of_span(const boost::json::value& span, uint64_t request_nano) {
  const boost::json::value& wait = member_of(span, "longest_wait");
  const std::string state = text_of(wait, "state");
  const bool waited = state == "sleeping" || state == "uninterruptible" || state == "blocked";
  if (!waited || number_of(wait, "duration_nano") < request_nano / 2) return Worth::kThreads;
  return text_of(wait, "in") == "futex" ? Worth::kWaitedForLock : Worth::kWaited;
}

Worth worth_of(const boost::json::value& timeline) {
  if (array_of(timeline, "captures").empty()) return Worth::kNothing;
  Worth worth = Worth::kCaptured;
  for (const auto& process : array_of(timeline, "processes")) {
    for (const auto& thread : array_of(process, "threads")) {
      for (const auto& span : array_of(thread, "spans")) {
        worth = std::max(worth, worth_of_span(span, number_of(timeline, "duration_nano")));
      }
    }
  }
  return worth;
}

// The slowest one of those of which there is most to see; where nothing was captured, the slowest of all.
Told choose(const Api& api, const boost::json::array& rows) {
  Told best{.trace_id = text_of(rows.front(), "trace_id")};
  for (size_t i = 0; i < rows.size() && best.worth < Worth::kWaitedForLock; ++i) {
    if (number_of(rows[i], "captures") == 0) continue;
    std::string trace_id = text_of(rows[i], "trace_id");
    Result<boost::json::value> timeline = api.json(Target("/api/v1/traces/" + trace_id + "/timeline"));
    if (!timeline || worth_of(*timeline) <= best.worth) continue;
    const Worth worth = worth_of(*timeline);
    best = {trace_id, *std::move(timeline), worth, i};
  }
  return best;
}

const char* worth_text(Worth worth) {
  switch (worth) {
    case Worth::kNothing:
      return "";
    case Worth::kCaptured:
      return "of which anything was captured";
    case Worth::kThreads:
      return "of which is known on which thread it ran";
    case Worth::kWaited:
    case Worth::kWaitedForLock:
      return "of which is known on which thread it waited";
  }
  return "";
}

// Why it is not the first one of the list.
std::string which(const Told& told) {
  if (told.place == 0) return "The slowest one";
  return "Number " + std::to_string(told.place + 1) + ", the slowest one " + worth_text(told.worth) +
         " (captures are limited to some per second, so not every slow request has one)";
}

void show_timeline(const Told& told, const Context& context) {
  context.out("\nWhat its threads did (fathom timeline " + told.trace_id +
              "; with --all, what the other threads of these processes did meanwhile):\n\n" +
              timeline_text(told.timeline, {context.columns, context.colour, kTimelineLines}));
}

}  // namespace

Result<ShownRequest> show_slowest(const std::string& http, const Context& context) {
  Api api(context.connect(http, kServerTimeoutNano, {}));
  Result<boost::json::array> rows = slowest_rows(api);
  if (!rows) return rows.error();
  if (rows->empty()) return internal("the shop ran, but no request of it was stored");
  Told told = choose(api, *rows);
  Result<boost::json::value> trace = api.json(Target("/api/v1/traces/" + told.trace_id));
  if (!trace) return trace.error();
  if (rows->size() > kShownRequests) rows->erase(rows->begin() + kShownRequests, rows->end());
  context.out("\nThe slowest requests:\n\n" + slowest_table(*rows, false, context.columns));
  context.out("\n" + which(told) + ", as a tree:\n\n" +
              trace_text(build_trace_tree(*trace), {context.columns, context.colour, false, 200}));
  if (!told.timeline.is_null()) show_timeline(told, context);
  return ShownRequest{told.trace_id, told.worth == Worth::kWaitedForLock};
}

}  // namespace fathom::cli
