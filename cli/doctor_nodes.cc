// What agents say was lost on their nodes, and what helps against it.
#include <algorithm>

#include "cli/api.h"
#include "cli/doctor_checks.h"
#include "cli/text.h"
#include "cli/value_text.h"

namespace fathom::cli {

namespace {

constexpr size_t kMostFindings = 8;

struct Reason {
  std::string_view name;  // docs/node-agent.md says what each means
  std::string_view what;  // is counted
  const char* cure;
};
constexpr std::string_view kSpans = "spans";
constexpr std::string_view kDetails = "parts of spans";
constexpr std::string_view kPools = "pools";
constexpr std::string_view kEvents = "events, or parts of them";
constexpr const char* kWild = "some program there is damaged, or means ill; its agent's log says more";
constexpr const char* kSmaller = "say less in one span: attributes, events and links share 8 KiB";
constexpr const char* kNewer = "update fathom-agent there: a program has a newer client library";
constexpr Reason kOther = {"", "things", "that host's agent says more in its log"};
constexpr Reason kReasons[] = {
    {"pool_full", kSpans, "give its busiest programs more memory for spans: FATHOM_POOL_MIB"},
    {"pool_not_ready", kSpans, "run fathom doctor on that host: programs need shared memory"},
    {"malformed_span", kSpans, kWild},
    {"unknown_type", kSpans, kNewer},
    {"unfinished", kSpans, "programs ended in the middle of writing them: see why they end"},
    {"ended_program", kSpans, "programs that ended left more than the agent keeps: raise its --spool-limit"},
    {"refused", kSpans, "this server would not have them: the agent's log says why"},
    {"spool_damaged", kSpans, "check the disk that holds the agent's --state"},
    {"attributes_too_large", kDetails, kSmaller},
    {"details_too_large", kDetails, kSmaller},
    {"value_cut", kDetails, kSmaller},
    {"malformed_item", kDetails, kWild},
    {"unknown", kDetails, kNewer},
    {"abandoned_batch", "batches", kWild},
    {"taken_over_pool", kPools, "two agents read the same programs: end one of them"},
    {"endless_pool", kPools, kWild},
    {"no_room_pool", kPools, kWild},
    {"detail_ended_program", kPools, "many programs ended at once: their last events are gone"},
    {"event_no_chunk", kEvents, "give its busiest programs more memory for events: FATHOM_DETAIL_MIB"},
    {"event_pool_not_ready", kEvents, "run fathom doctor on that host: programs need shared memory"},
    {"event_discarded", kEvents, "programs keep their oldest events, as FATHOM_DETAIL_MODE=discard says"},
    {"event_text_cut", kEvents, "say less in one event: all its values share 2 KiB"},
    {"event_tracepoints", kEvents, "a program has more tracepoints than fit: 4000 at most"},
    {"event_unknown", kEvents, kNewer},
    {"wild_count", "counts of losses", kWild},
};

const Reason& known(std::string_view name) {
  auto found =
      std::find_if(std::begin(kReasons), std::end(kReasons), [&](auto& reason) { return reason.name == name; });
  return found == std::end(kReasons) ? kOther : *found;
}

struct Loss {
  std::string node;
  std::string reason;
  uint64_t count;
};

// Whole spans before anything else, then the most.
bool is_worse(const Loss& a, const Loss& b) {
  bool spans_a = known(a.reason).what == kSpans, spans_b = known(b.reason).what == kSpans;
  return spans_a != spans_b ? spans_a : a.count > b.count;
}

std::vector<Loss> worst_losses(const boost::json::array& nodes) {
  std::vector<Loss> all;
  for (const boost::json::value& node : nodes) {
    std::string name = name_text(text_of(node, "host_name")) + " (" + short_node_id(text_of(node, "node_id")) + ")";
    for (const boost::json::value& loss : array_of(node, "losses")) {
      uint64_t count = number_of(loss, "count");
      if (count > 0) all.push_back({name, text_of(loss, "reason"), count});
    }
  }
  std::stable_sort(all.begin(), all.end(), is_worse);
  return all;
}

// Agents count from their start on, so right after it this says little.
std::string no_losses(size_t nodes) {
  if (nodes == 0) return "none known";
  std::string since = nodes == 1 ? "its agent was started" : "their agents were started";
  return group_digits(nodes) + " known, nothing lost since " + since;
}

Finding finding_of(const Loss& loss) {
  const Reason& reason = known(loss.reason);
  std::string lost = group_digits(loss.count).append(" ").append(reason.what).append(": ").append(loss.reason);
  return {"nodes", Health::kWarn, "node " + loss.node + " lost " + lost, reason.cure};
}

}  // namespace

std::vector<Finding> judge_nodes(const boost::json::array& nodes) {
  std::vector<Loss> losses = worst_losses(nodes);
  if (losses.empty()) return {{"nodes", Health::kOk, no_losses(nodes.size()), ""}};
  size_t shown = std::min(losses.size(), kMostFindings);
  std::vector<Finding> findings;
  for (size_t i = 0; i < shown; ++i) findings.push_back(finding_of(losses[i]));
  if (shown < losses.size()) {
    findings.push_back({"nodes", Health::kWarn, group_digits(losses.size() - shown) + " more such losses",
                        "fathom nodes lists them all"});
  }
  return findings;
}

std::vector<Finding> check_nodes(const Context& context, const Args& args) {
  Result<Api> api = connect(args, context);
  if (!api) return {};
  Result<boost::json::value> answer = api->json(Target("/api/v1/nodes"));
  if (!answer) {
    const bool is_refusal = answer.error().message.starts_with("401") || answer.error().message.find("403") < 40;
    return {{"nodes", Health::kWarn, answer.error().message,
             is_refusal ? "run this as the user who runs the server, or give a token of it: --token-file FILE"
                        : "it is of another version than this program: update the older one"}};
  }
  return judge_nodes(array_of(*answer, "nodes"));
}

}  // namespace fathom::cli
