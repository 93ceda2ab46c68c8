// Captures under measurement: a real server, a real agent, and a program that gives reasons for captures.
//
// Purpose: how soon a capture is durable, how soon an overdue span is seen. Every capture is fetched and looked into:
// one that lacks events is an error, for a figure of a broken run is worse than none. Thread safety: one thread. Units:
// in names.
#pragma once

#include <memory>

#include "bench/latencies.h"
#include "bench/query_client.h"
#include "bench/server.h"
#include "bench/traced_node.h"
#include "bench/tracers/subprocess.h"
#include "capture/capture.h"

namespace fathom::bench::tracers {

class CaptureRounds {
 public:
  static constexpr uint64_t kBurstBytes = 8 << 20;
  static constexpr uint64_t kThresholdMs = 20;

  static Result<CaptureRounds> start(const ServerOptions& server);

  // A program that has just written 8 MiB of events asks for a capture: from that moment until the server has it.
  Result<uint64_t> burst_to_durable_nano();
  // A span over its threshold: from passing it until its detail was copied, while it runs. `number` names its
  // operation.
  Result<uint64_t> overdue_to_copied_nano(uint64_t number);

 private:
  struct Said {
    std::string trace;
    uint64_t start_nano = 0;
    uint64_t trigger_nano = 0;
  };
  CaptureRounds(std::unique_ptr<Server> server, std::unique_ptr<TracedNode> node, std::unique_ptr<Subprocess> program);
  Result<Said> ask(const std::string& line);
  Result<std::string> await_capture(const std::string& trace, std::string_view trigger);
  Result<capture::Capture> fetch(const std::string& id);
  void pause();

  std::unique_ptr<Server> server_;
  std::unique_ptr<TracedNode> node_;
  std::unique_ptr<Subprocess> program_;
  std::unique_ptr<QueryClient> client_;
  uint64_t last_nano_ = 0;
};

}  // namespace fathom::bench::tracers
