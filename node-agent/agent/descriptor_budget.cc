#include "node-agent/agent/descriptor_budget.h"

#include <sys/resource.h>

#include <algorithm>

namespace fathom::agent {

namespace {

// One user alone gets no more than half of what is short.
void limit(size_t& most, size_t& most_per_user, uint64_t share) {
  if (most <= share) return;
  most = share;
  most_per_user = std::min<size_t>(most_per_user, (share + 1) / 2);
}

}  // namespace

AgentOptions fit_descriptors(AgentOptions options, uint64_t most_open) {
  options.listener.most_being_closed = std::min<uint64_t>(options.listener.most_being_closed, most_open / 8);
  uint64_t being_closed = options.listener.most_being_closed + Received::kMostDescriptors;
  uint64_t own = std::min(kOwnDescriptors + being_closed, most_open / 2);
  uint64_t share = std::max<uint64_t>((most_open - own) / 3, 1);
  limit(options.listener.most_connections, options.listener.most_connections_per_user, share);
  limit(options.limits.most_pools, options.limits.most_pools_per_user, share);
  limit(options.detail_limits.most_pools, options.detail_limits.most_pools_per_user, share);
  return options;
}

uint64_t most_open_files() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 1024;
}

}  // namespace fathom::agent
