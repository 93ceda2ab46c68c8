// Uplink: the Outbox of a real agent: sends batches to the collector over one stream, and to a spool on disk while it
// is away; and its CaptureOutbox: captures go over the same stream, after the spans, and wait in memory.
//
// Purpose: batches are kept (Outcome::kKept) once the collector has acknowledged them or they are in the spool. They
// are sent again over every new stream, under the same identity, until they are acknowledged. Streams are reopened
// without end, with a backoff of 100 ms to 5 s and jitter. Back pressure: room() is false while `memory_bytes` of
// batches wait. Each batch carries the offset of this host's clock to the collector's, if known. Thread safety: every
// call on the thread that runs `loop`; gRPC's threads and the spool's own only post to it. Ownership: `loop` must
// outlive the Uplink. Units: in names. Errors: start() reports faults of the spool's directory; later ones are waited
// for, or counted: fathom_agent_lost_spans_total{reason="refused"|"rejected"|"spool_damaged"}: whole batches, single
// spans of stored batches, and what a damaged spool file cannot return; and
// fathom_agent_lost_captures_total{reason="refused"|"no_room"|"not_taken"|"unsent"}. docs/formats/ingest-stream.md and
// docs/formats/spool.md describe the bytes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/result.h"
#include "net/tls_client.h"
#include "node-agent/control.h"
#include "node-agent/outbox.h"

namespace fathom::agent {

struct UplinkOptions {
  std::string collector_address;  // HOST:PORT of its ingest stream
  bool collector_tls = false;
  net::ClientSecurity collector_security = {};  // certificates with TLS; a token in either case
  ingest::NodeId node_id;
  ingest::NodeKey node_key;
  std::string host_name;
  std::string agent_version;
  bool captures_off = false;  // these three are sent in Hello
  bool reports_skipped_captures = false;
  uint64_t slowest_period_nano = 0;
  // Applies the server's redaction rules, on the loop; null: Hello says that this agent does not.
  std::function<void(const ingest::RedactionRules&)> use_redaction_rules = {};
  std::string spool_directory;                  // created if missing; used by no other process. Empty: no spool
  uint64_t spool_limit_bytes = 256ull << 20;    // 0: nothing is added; existing entries are still sent
  uint64_t memory_bytes = 16ull << 20;          // of batches that are neither acknowledged nor spooled
  uint64_t capture_memory_bytes = 64ull << 20;  // of captures that are not durable; they are not spooled
  uint64_t spool_after_nano = 1'000'000'000;    // a batch that could not be sent for so long is spooled
  uint64_t stalled_after_nano = 3'000'000'000;  // so is one that was sent and not acknowledged for so long
};

// What the rest of the agent reports for `fathom nodes`.
struct NodeFacts {
  uint32_t programs = 0;
  uint64_t resident_bytes = 0;                           // 0: the uplink measures it
  std::vector<std::pair<std::string, uint64_t>> losses;  // reason, count since this agent began
  std::function<void()> told;                            // called when the collector has received them; perhaps never
};

struct ClockEstimate {
  int64_t offset_nano = 0;  // collector's clock minus this host's CLOCK_REALTIME, now
  uint64_t error_nano = 0;
  uint64_t measured_unix_nano = 0;
};

struct UplinkStatus {
  bool connected = false;  // a stream is open, and the collector has sent Welcome
  std::optional<ClockEstimate> clock;
  uint64_t memory_bytes = 0;  // of batches in memory
  uint64_t spool_bytes = 0;   // of files on disk
  uint64_t acknowledged_spans = 0;
  uint64_t refused_spans = 0;  // by the collector, for good: whole batches, or single spans of them
  uint64_t damaged_spool_spans = 0;
  uint64_t capture_memory_bytes = 0;                            // of captures that are not durable
  std::vector<std::pair<std::string, uint64_t>> lost_captures;  // as NodeFacts::losses
};

class Uplink : public Outbox, public CaptureOutbox {
 public:
  // `facts` is called on the loop, every few seconds.
  Uplink(boost::asio::io_context& loop, UplinkOptions options, std::function<NodeFacts()> facts);
  // Ends the stream at once; no `done` is called afterwards.
  ~Uplink() override;

  // Opens the spool and begins to connect.
  Result<> start();
  bool room(uint64_t bytes) override;
  // The limit of the collector's last Welcome; without one, there is no limit.
  uint64_t most_bytes() const override;
  void send(OutgoingBatch batch, std::function<void(Outcome)> done) override;
  LocalInstant mark() override;
  void send(OutgoingCapture capture, std::function<void(CaptureFate)> done) override;
  void announce(ingest::SlowTrace trace) override;
  bool report_skipped(const ingest::SkippedCaptures& skipped) override;
  // The handler of the collector's requests; null: none, which new streams then report. Normally set before start(). It
  // must outlive this, or be set to null.
  void set_control(ControlHandler* handler);

  // Limits what is spooled from now on; existing entries are still sent. Call it between start() and finish().
  void set_spool_limit(uint64_t bytes);

  // For an orderly shutdown, after the last batch: waits up to `grace_nano` for acknowledgements (not at all without a
  // stream), spools the rest, reports once more, waits at most a second until that is received, and calls `done`.
  // Captures have half of that time to become durable; then they are lost, and reported as such. The `done` of lost
  // captures, and of batches that even the spool rejects, is never called. After this, nothing more may be sent.
  void finish(uint64_t grace_nano, std::function<void()> done);

  UplinkStatus status() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;  // posted work has weak pointers to it
};

}  // namespace fathom::agent
