// Outbox: where finished batches leave the agent's loop: to the collector, or to the spool while it is away.
//
// Purpose: the one seam between reading programs' memory and carrying it home. Thread safety: every call, in both
// directions, on the thread that runs the agent's io_context; an implementation posts to it from threads of its own.
// Ownership: a batch is handed over with send(); the agent keeps the pool's range marked as under way until `done` is
// called, and gives it back to the program then. Errors: none are returned; what cannot be sent now waits, in the
// outbox or in the programs' pools (room() says which), and what is refused for good is counted by the implementation.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

namespace fathom::agent {

struct OutgoingBatch {
  // The same whenever the same spans are sent again, by any instance of this node's agent.
  std::array<uint8_t, 16> identity{};
  std::string otlp;  // an ExportTraceServiceRequest
  uint32_t spans = 0;
  // The times in `otlp` are of CLOCK_REALTIME as it is now. Before now its oldest span ended; clocks have drifted
  // since.
  uint64_t oldest_age_nano = 0;
};

enum class Outcome {
  kKept,     // durable: at the collector, or in the spool
  kRefused,  // never will be: dropped, and counted by the outbox as fathom_agent_lost_spans_total{reason="refused"}
};

class Outbox {
 public:
  virtual ~Outbox() = default;

  // Whether send() may come now with so many bytes of `otlp`. False is back pressure: the agent asks again at its next
  // poll, and meanwhile the spans stay in the programs' memory. Cheap: asked before each batch is built.
  virtual bool room(uint64_t bytes) = 0;

  // Batches with more bytes of `otlp` would be refused, as far as is known now.
  virtual uint64_t most_bytes() const = 0;

  // `done` is called once, later (never from within send()), on the agent's loop, and in any order over batches; never
  // after the outbox was destroyed or stopped. A batch whose `done` never came is sent again under the same identity,
  // by this agent's successor.
  virtual void send(OutgoingBatch batch, std::function<void(Outcome)> done) = 0;
};

}  // namespace fathom::agent
