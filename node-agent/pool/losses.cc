#include "node-agent/pool/losses.h"

#include <algorithm>

namespace fathom::agent {

namespace {

constexpr const char* kSpans = "fathom_agent_lost_spans_total";
constexpr const char* kSpansHelp = "Spans that were lost on this node, by reason.";
constexpr const char* kDetails = "fathom_agent_lost_details_total";
constexpr const char* kDetailsHelp =
    "Parts of spans (attributes, events, links, ends of texts) that were lost, by reason.";

Counter& spans(const char* reason) {
  return counter(kSpans, kSpansHelp, label("reason", reason));
}
Counter& details(const char* reason) {
  return counter(kDetails, kDetailsHelp, label("reason", reason));
}
Counter& events(const char* reason) {
  return counter("fathom_agent_lost_events_total",
                 "Events of the flight recorder that were lost on this node, or parts of them, by reason.",
                 label("reason", reason));
}
Counter& pools(const char* reason) {
  return counter("fathom_agent_lost_pools_total", "Pools that this agent had to let go of, by reason.",
                 label("reason", reason));
}

// As the collector hears of them.
constexpr const char* kEventNames[] = {"event_no_chunk", "event_pool_not_ready", "event_discarded",
                                       "event_text_cut", "event_tracepoints",    "event_unknown"};

}  // namespace

AgentLosses::AgentLosses()
    : malformed_spans(spans("malformed")),
      malformed_items(details("malformed")),
      unknown_records(spans("unknown_type")),
      unfinished_spans(spans("unfinished")),
      dropped_spans(spans("ended_program")),
      abandoned_batches(counter("fathom_agent_lost_batches_total",
                                "Batches under way that a pool's marks do not describe.", label("reason", "marks"))),
      taken_over_pools(pools("taken_over")),
      wild_counts(counter("fathom_agent_wild_counts_total",
                          "Times that a program said it lost more than can be true; what it said was left out.")),
      endless_pools(pools("endless")),
      no_room_pools(pools("no_room")),
      detail_pools(pools("detail_ended_program")),
      programs_{&spans("pool_full"),           &spans("pool_not_ready"), &details("attributes_too_large"),
                &details("details_too_large"), &details("value_cut"),    &details("unknown")},
      events_{&events("no_chunk"), &events("pool_not_ready"), &events("discarded"),
              &events("text_cut"), &events("tracepoints"),    &events("unknown")} {}

void AgentLosses::add_of_program(uint32_t loss, uint64_t lost, uint64_t most) {
  add(of_program(loss), lost, most);
}

void AgentLosses::add_of_detail(uint32_t loss, uint64_t lost, uint64_t most) {
  add(*events_[std::min(loss, kEventReasons - 1)], lost, most);
}

void AgentLosses::add(Counter& series, uint64_t lost, uint64_t most) {
  constexpr uint64_t kMostOfASeries = uint64_t{1} << 62;
  if (lost > most || series.value() > kMostOfASeries) return wild_counts.add();
  series.add(lost);
}

std::vector<std::pair<std::string, uint64_t>> AgentLosses::list() const {
  std::vector<std::pair<std::string, uint64_t>> all{{"pool_full", programs_[pool::kLostPoolFull]->value()},
                                                    {"pool_not_ready", programs_[pool::kLostNotReady]->value()},
                                                    {"attributes_too_large", programs_[pool::kLostAttributes]->value()},
                                                    {"details_too_large", programs_[pool::kLostDetails]->value()},
                                                    {"value_cut", programs_[pool::kCutValues]->value()},
                                                    {"unknown", programs_.back()->value()},
                                                    {"malformed_span", malformed_spans.value()},
                                                    {"malformed_item", malformed_items.value()},
                                                    {"unknown_type", unknown_records.value()},
                                                    {"unfinished", unfinished_spans.value()},
                                                    {"ended_program", dropped_spans.value()},
                                                    {"abandoned_batch", abandoned_batches.value()},
                                                    {"taken_over_pool", taken_over_pools.value()},
                                                    {"endless_pool", endless_pools.value()},
                                                    {"no_room_pool", no_room_pools.value()},
                                                    {"detail_ended_program", detail_pools.value()},
                                                    {"wild_count", wild_counts.value()}};
  for (uint32_t loss = 0; loss < kEventReasons; ++loss) all.emplace_back(kEventNames[loss], events_[loss]->value());
  std::erase_if(all, [](const auto& loss) { return loss.second == 0; });
  return all;
}

}  // namespace fathom::agent
