// usual_sources(): the sources of an agent as fathom-agent has them by default, for tests. Thread safety: any thread.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "node-agent/sources/client_events.h"
#include "node-agent/sources/kernel_events.h"
#include "node-agent/sources/sources.h"

namespace fathom::agent::testing {

// `more`: the last source; null: none.
inline Sources usual_sources(std::unique_ptr<Source> more = nullptr) {
  std::vector<std::unique_ptr<Source>> all;
  all.push_back(std::make_unique<ClientEvents>());
  all.push_back(std::make_unique<KernelEvents>(KernelEventsMode::kRequested, uint64_t{4} << 20));
  if (more) all.push_back(std::move(more));
  return Sources(std::move(all));
}

}  // namespace fathom::agent::testing
