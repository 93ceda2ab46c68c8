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
#include <string_view>
#include <variant>
#include <vector>

#include "ingest/collector_messages.h"
#include "node-agent/control.h"
#include "node-agent/uplink/clock_offset.h"

namespace fathom::agent {

// What the collector tells and asks.
using LinkControl =
    std::variant<ingest::SaidThresholds, ingest::Asked<CaptureRequest>, ingest::Asked<TracepointRequest>,
                 ingest::Asked<std::vector<TracepointRule>>, ingest::Asked<ingest::RedactionRules>>;

struct ProbeAnswer {
  ProbeTimes times;
  uint64_t report = 0;  // the last one that was written before the probe, so the collector has heard it; 0: none
};

struct LinkEvents {
  std::function<void(ingest::Welcome)> welcome;
  std::function<void(ingest::Ack)> ack;
  std::function<void(ProbeAnswer)> probed;
  std::function<void(ingest::CaptureProgress)> progress;
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
