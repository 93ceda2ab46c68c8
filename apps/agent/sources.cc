#include "apps/agent/sources.h"

#include "node-agent/sources/client_events.h"
#include "node-agent/sources/kernel_events.h"

namespace fathom {

namespace {

agent::KernelEventsMode kernel_events_mode(const std::string& word) {
  if (word == "traced") return agent::KernelEventsMode::kTraced;
  if (word == "scheduling") return agent::KernelEventsMode::kScheduling;
  return word == "requested" ? agent::KernelEventsMode::kRequested : agent::KernelEventsMode::kOff;
}

}  // namespace

agent::Sources make_sources(const AgentProgramOptions& options) {
  std::vector<std::unique_ptr<agent::Source>> all;
  all.push_back(std::make_unique<agent::ClientEvents>());
  all.push_back(
      std::make_unique<agent::KernelEvents>(kernel_events_mode(options.kernel_events), options.kernel_events_bytes));
  return agent::Sources(std::move(all));
}

}  // namespace fathom
