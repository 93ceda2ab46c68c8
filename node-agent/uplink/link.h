// Link: one stream to the collector, from its opening to its end; the uplink makes a new one after each.
//
// Purpose: the seam between what is sent when (Courier) and gRPC. Thread safety: calls on the loop's thread; events on
// any thread, one at a time per link, none from within a call. Ownership: the destructor ends the stream; no event
// comes after it. What was sent is held until gRPC has written it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "node-agent/control.h"
#include "node-agent/uplink/clock_offset.h"

namespace fathom::agent {

struct LinkWelcome {
  std::string collector_version;
  uint64_t max_batch_bytes = 0;
  uint64_t max_unacknowledged_bytes = 0;
  uint32_t max_unacknowledged_batches = 0;
  uint64_t max_capture_bytes = 0;  // 0: takes none
  uint64_t max_capture_bytes_under_way = 0;
};

struct LinkAck {
  enum class Outcome { kDurable, kRetry, kRefused };
  uint64_t sequence = 0;
  Outcome outcome = Outcome::kDurable;
  uint64_t retry_after_nano = 0;
  std::string message;
  uint64_t rejected_spans = 0;
};

struct LinkProgress {
  enum class State { kTaken, kDurable, kRetry, kRefused };
  std::array<uint8_t, 16> id{};
  State state = State::kRetry;
  uint64_t taken_bytes = 0;
  uint64_t retry_after_nano = 0;
  std::string message;
};

// What the collector asks. A `fault` says why it cannot be done, whoever would do it; it is the answer then.
struct AskedThresholds {
  bool replaces = false;
  std::vector<OperationThreshold> operations;
};
struct AskedCapture {
  CaptureRequest request;
  std::array<uint8_t, 16> node_id{};  // zero: any
  std::string fault;
};
struct AskedTracepoints {
  TracepointRequest request;
  std::array<uint8_t, 16> node_id{};  // zero: every
  std::string fault;
};
struct AskedRules {
  std::vector<TracepointRule> rules;
};
using LinkControl = std::variant<AskedThresholds, AskedCapture, AskedTracepoints, AskedRules>;

struct ProbeAnswer {
  ProbeTimes times;
  uint64_t report = 0;  // the last one that was written before the probe, so the collector has heard it; 0: none
};

struct LinkEvents {
  std::function<void(LinkWelcome)> welcome;
  std::function<void(LinkAck)> ack;
  std::function<void(ProbeAnswer)> probed;
  std::function<void(LinkProgress)> progress;
  std::function<void(LinkControl)> asked;
  std::function<void(std::string)> ended;  // with the reason, for people; the last event
};

class Link {
 public:
  virtual ~Link() = default;
  // A batch, of which the last field's bytes are `body`.
  virtual void send(std::string head, std::shared_ptr<const std::string> body) = 0;
  // Takes the place of an older one that is not written yet. Numbers grow.
  virtual void report(std::string message, uint64_t number) = 0;
  // A message about captures, written when nothing else waits to be. Behind `head` comes `part`, which lies in
  // `content`.
  virtual void send_capture(std::string head, std::shared_ptr<const std::string> content, std::string_view part) = 0;
  virtual void answer(std::string message) = 0;
  virtual void probe() = 0;  // asks for the collector's clock; the answer is an event
  virtual void close() = 0;  // `ended` follows soon
};

using LinkFactory = std::function<std::unique_ptr<Link>(LinkEvents)>;

}  // namespace fathom::agent
