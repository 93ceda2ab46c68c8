// Link: one stream to the collector, from its opening to its end; the uplink makes a new one after each.
//
// Purpose: the seam between what is sent when (Courier) and gRPC. Thread safety: calls on the loop's thread; events on
// any thread, one at a time per link, none from within a call. Ownership: the destructor ends the stream; no event
// comes after it. What was sent is held until gRPC has written it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "node-agent/uplink/clock_offset.h"

namespace fathom::agent {

struct LinkWelcome {
  std::string collector_version;
  uint64_t max_batch_bytes = 0;
  uint64_t max_unacknowledged_bytes = 0;
  uint32_t max_unacknowledged_batches = 0;
};

struct LinkAck {
  enum class Outcome { kDurable, kRetry, kRefused };
  uint64_t sequence = 0;
  Outcome outcome = Outcome::kDurable;
  uint64_t retry_after_nano = 0;
  std::string message;
  uint64_t rejected_spans = 0;
};

struct ProbeAnswer {
  ProbeTimes times;
  uint64_t report = 0;  // the last one that was written before the probe, so the collector has heard it; 0: none
};

struct LinkEvents {
  std::function<void(LinkWelcome)> welcome;
  std::function<void(LinkAck)> ack;
  std::function<void(ProbeAnswer)> probed;
  std::function<void(std::string)> ended;  // with the reason, for people; the last event
};

class Link {
 public:
  virtual ~Link() = default;
  // A batch, of which the last field's bytes are `body`.
  virtual void send(std::string head, std::shared_ptr<const std::string> body) = 0;
  // Takes the place of an older one that is not written yet. Numbers grow.
  virtual void report(std::string message, uint64_t number) = 0;
  virtual void probe() = 0;  // asks for the collector's clock; the answer is an event
  virtual void close() = 0;  // `ended` follows soon
};

using LinkFactory = std::function<std::unique_ptr<Link>(LinkEvents)>;

}  // namespace fathom::agent
