#include "bench/live_load.h"

#include "base/thread_priority.h"
#include "base/time.h"

namespace fathom::bench {

LiveLoad::LiveLoad(const std::string& target, uint64_t seed, double spans_per_s)
    : workload_(Shape::kShop, seed, {now_unix_nano(), static_cast<uint64_t>(kPositions * 1e9 / spans_per_s)}),
      exporters_(workload_, 0, UINT64_MAX / 2),
      client_({target, kServices, SIZE_MAX}),
      thread_([this] {
        // It stands for programs on other machines: what it computes must not take turns from what is measured here.
        yield_to_requests();
        send_live(exporters_, client_, [this] { return go_on_.load(); });
      }) {}

void LiveLoad::stop() {
  go_on_ = false;
  if (thread_.joinable()) thread_.join();
}

}  // namespace fathom::bench
