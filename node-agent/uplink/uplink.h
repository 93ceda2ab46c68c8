// Uplink: the Outbox of a real agent: batches go to the collector over one stream, and to a spool on disk while it is
// away; and its CaptureOutbox: captures go over the same stream, behind the spans, and wait in memory.
//
// Purpose: batches are kept (Outcome::kKept) once the collector acknowledged them or once they lie in the spool; they
// are sent again over every new stream, under the same identity, until they are acknowledged. The stream is made anew
// for ever, with a backoff of 100 ms to 5 s and jitter. Back pressure: room() is false while `memory_bytes` of batches
// wait for either. Each batch carries the offset of this host's clock to the collector's, where it is known. Thread
// safety: every call on the thread that runs `loop`; gRPC's threads and the spool's own only post to it. Ownership:
// `loop` must outlive the Uplink. Units: in names. Errors: start() says what is wrong with the spool's directory;
// everything later is waited for, or counted: fathom_agent_lost_spans_total{reason="refused"|
// "rejected"|"spool_damaged"}: whole batches, single spans of batches that were stored, and what a spool file cannot
// give back; and fathom_agent_lost_captures_total{reason="refused"|"no_room"|"not_taken"|"unsent"}.
// docs/formats/ingest-stream.md and docs/formats/spool.md have the bytes.
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
  net::ClientSecurity collector_security = {};  // with TLS, certificates; a token in either case
  ingest::NodeId node_id;
  std::string host_name;
  std::string agent_version;
  bool captures_off = false;  // these three are said in Hello
  bool reports_skipped_captures = false;
  uint64_t slowest_period_nano = 0;
  std::string spool_directory;                  // made when it is missing; nobody else's. Empty: no spool
  uint64_t spool_limit_bytes = 256ull << 20;    // 0: nothing is put there; what lies there is sent all the same
  uint64_t memory_bytes = 16ull << 20;          // of batches that are neither acknowledged nor spooled
  uint64_t capture_memory_bytes = 64ull << 20;  // of captures that are not durable; they are not spooled
  uint64_t spool_after_nano = 1'000'000'000;    // a batch that could not be sent for so long is spooled
  uint64_t stalled_after_nano = 3'000'000'000;  // one that was sent and not acknowledged for so long, too
};

// What the rest of the agent contributes to `fathom nodes`.
struct NodeFacts {
  uint32_t programs = 0;
  uint64_t resident_bytes = 0;                           // 0: the uplink looks itself
  std::vector<std::pair<std::string, uint64_t>> losses;  // reason, count since this agent began
  std::function<void()> told;                            // called once the collector has heard of them, if it ever has
};

struct ClockEstimate {
  int64_t offset_nano = 0;  // collector's clock minus this host's CLOCK_REALTIME, now
  uint64_t error_nano = 0;
  uint64_t measured_unix_nano = 0;
};

struct UplinkStatus {
  bool connected = false;  // the collector said welcome on a stream that lives
  std::optional<ClockEstimate> clock;
  uint64_t memory_bytes = 0;  // of batches in memory
  uint64_t spool_bytes = 0;   // of files on disk
  uint64_t acknowledged_spans = 0;
  uint64_t refused_spans = 0;  // by the collector, for good: whole batches, or single spans of them
  uint64_t damaged_spool_spans = 0;
  uint64_t capture_memory_bytes = 0;                            // of captures that are not durable
  std::vector<std::pair<std::string, uint64_t>> lost_captures;  // as NodeFacts has losses
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
  // What the collector said last; anything before it said so first.
  uint64_t most_bytes() const override;
  void send(OutgoingBatch batch, std::function<void(Outcome)> done) override;
  LocalInstant mark() override;
  void send(OutgoingCapture capture, std::function<void(CaptureFate)> done) override;
  void announce(ingest::SlowTrace trace) override;
  bool report_skipped(const ingest::SkippedCaptures& skipped) override;
  // Who obeys the collector; null: nobody, which is what a stream that begins then says. Before start(), as a rule. It
  // must outlive this, or be taken back.
  void set_control(ControlHandler* handler);

  // For what is spooled from now on; what lies there is sent all the same. Between start() and finish().
  void set_spool_limit(uint64_t bytes);

  // For an orderly end, when the last batch was handed over: waits up to `grace_nano` for acknowledgements (not at all
  // without a stream), spools what is left, reports once more, waits a second at most until that is heard, and calls
  // `done`. Captures have half of that time to become durable; then they are lost, and reported as such. Batches that
  // even the spool does not take, and captures that are lost, never get theirs. After this nothing more may be sent.
  void finish(uint64_t grace_nano, std::function<void()> done);

  UplinkStatus status() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;  // posted work holds it weakly
};

}  // namespace fathom::agent
