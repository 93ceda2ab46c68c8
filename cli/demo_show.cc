#include "cli/demo_show.h"

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

constexpr uint64_t kRows = 10;
// Whose threads may be shown: of requests that took about as long, one is captured, and mostly not the first.
constexpr uint64_t kCandidates = 40;
constexpr uint64_t kAnswerPatienceNano = 30 * kNanosPerSecond;
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

struct Told {
  std::string trace_id;
  boost::json::value timeline;  // null: nothing was captured
  bool slowest = true;
};

// How much there is to see: threads, then captures, without which there is nothing.
std::pair<size_t, size_t> worth(const boost::json::value& timeline) {
  size_t threads = 0;
  for (const auto& process : array_of(timeline, "processes")) threads += array_of(process, "threads").size();
  return {threads, array_of(timeline, "captures").size()};
}

// Of the slowest ones that of which there is most to see; of those that are not shown the first one of which there is
// anything; where nothing was captured, the slowest one.
Told choose(const Api& api, const boost::json::array& rows) {
  Told best{text_of(rows.front(), "trace_id"), nullptr, true};
  for (size_t i = 0; i < rows.size() && (i < kRows || best.timeline.is_null()); ++i) {
    std::string trace_id = text_of(rows[i], "trace_id");
    Result<boost::json::value> timeline = api.json(Target("/api/v1/traces/" + trace_id + "/timeline"));
    bool captured = timeline && !array_of(*timeline, "captures").empty();
    if (!captured || worth(*timeline) <= worth(best.timeline)) continue;
    best = {trace_id, *std::move(timeline), i == 0};
  }
  return best;
}

void show_timeline(const Told& told, const Context& context) {
  context.out("\nWhat its threads did (fathom timeline " + told.trace_id +
              "; with --all, what the other threads of these processes did meanwhile):\n\n" +
              timeline_text(told.timeline, {context.columns, context.colour, kTimelineLines}));
}

}  // namespace

Result<std::string> show_slowest(const std::string& http, const Context& context) {
  Api api(context.connect(http, kAnswerPatienceNano));
  Result<boost::json::array> rows = slowest_rows(api);
  if (!rows) return rows.error();
  if (rows->empty()) return internal("the shop ran, but no request of it was stored");
  Told told = choose(api, *rows);
  Result<boost::json::value> trace = api.json(Target("/api/v1/traces/" + told.trace_id));
  if (!trace) return trace.error();
  if (rows->size() > kRows) rows->erase(rows->begin() + kRows, rows->end());
  context.out("\nThe slowest requests:\n\n" + slowest_table(*rows, false, context.columns));
  context.out(std::string("\nThe slowest one") + (told.slowest ? "" : " of whose threads most was captured") +
              ", as a tree:\n\n" + trace_text(build_trace_tree(*trace), {context.columns, context.colour, false, 200}));
  if (!told.timeline.is_null()) show_timeline(told, context);
  return told.trace_id;
}

}  // namespace fathom::cli
