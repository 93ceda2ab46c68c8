// A fleet that goes on while queries are measured: shop-v1 at a steady rate, event time being the wall clock.
//
// Purpose: a thread of its own, so that queries neither wait for it nor drive it. Ownership: joins its thread at the
// end. Thread safety: made, stopped and read by one thread. Errors: kept in counts().
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "bench/load_client.h"
#include "bench/workload.h"

namespace fathom::bench {

class LiveLoad {
 public:
  LiveLoad(const std::string& target, uint64_t seed, double spans_per_s);
  ~LiveLoad() { stop(); }

  // Begins no more traces, sends what is pending, and waits until all is acknowledged.
  void stop();
  const Workload& workload() const { return workload_; }
  // After stop().
  const LoadCounts& counts() const { return client_.counts(); }
  uint64_t traces() const { return exporters_.traces_begun(); }

 private:
  Workload workload_;
  Exporters exporters_;
  LoadClient client_;
  std::atomic<bool> go_on_{true};
  std::thread thread_;
};

}  // namespace fathom::bench
