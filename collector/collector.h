// Collector: spans in, over OTLP (gRPC and HTTP) and over the agents' stream, into a SpanStore; a request is
// acknowledged when its spans are durable.
//
// Purpose: the listeners and the one ingest path behind them. Memory is bounded: every request takes its bytes from
// one budget before it is parsed; when the budget is empty, the answer is "later" (UNAVAILABLE, 503), never a crash.
// Thread safety: start() and stop() from one thread. Ownership: the store must outlive the collector.
// Errors: start() fails with a message that names the address. What is accepted, refused and counted: docs/otlp.md and
// docs/formats/ingest-stream.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "collector/agents/agent_redaction.h"
#include "collector/agents/node_keys.h"
#include "collector/agents/node_streams.h"
#include "collector/agents/registry.h"
#include "collector/snapshot_sink.h"
#include "collector/span_observer.h"
#include "net/listener_security.h"
#include "redact/redactor.h"
#include "store/batch.h"
#include "store/capture_store.h"
#include "store/span_store.h"

namespace fathom::collector {

// The smallest budget with which every batch of agents can be taken, one after the other.
inline constexpr uint64_t kLeastBudgetBytes = 8 << 20;

struct CollectorOptions {
  std::string otlp_grpc_address = "127.0.0.1:4317";  // empty: no such listener; port 0: a free port
  std::string otlp_http_address = "127.0.0.1:4318";
  std::string ingest_address;           // of agents; empty: no such listener
  std::shared_ptr<NodeRegistry> nodes;  // who the agents are; the collector's own unless given
  std::string version = "dev";          // what agents are told
  // Where agents' captures go; null: none are taken. It must outlive the collector.
  store::CaptureStore* captures = nullptr;
  uint64_t max_capture_bytes = 64ull << 20;     // of one of them
  uint64_t capture_budget_bytes = 64ull << 20;  // for their bytes, from their reading to their writing
  // Where agents' snapshots go; null: they are asked to keep them. It must outlive the collector.
  SnapshotSink* snapshots = nullptr;
  // Which key belongs to which node; null: node ids have none.
  std::shared_ptr<NodeKeys> keys;
  // The redaction rules that agents apply to captures; null: captures are accepted as they are.
  std::shared_ptr<AgentRedaction> agent_redaction;
  // Who has something to ask agents sends it over `streams`, and hears in `answers`; either may be null.
  std::shared_ptr<NodeStreams> streams;
  std::shared_ptr<NodeAnswers> answers;
  uint64_t max_request_bytes = 64ull << 20;  // after decompression; larger: RESOURCE_EXHAUSTED, 413
  // For the bytes of requests, from their reading to their acknowledgement. One request needs its size in wire bytes
  // (twice that for a moment, over gRPC), and about half of it decoded; spans with next to nothing in them need up to
  // four times their size. A request that needs more than all of this is refused as oversized. Where agents are
  // listened to: kLeastBudgetBytes at least.
  uint64_t budget_bytes = 160ull << 20;
  // What gRPC itself may hold in messages that it has not handed out yet, for OTLP; and for agents.
  uint64_t grpc_buffer_bytes = 192ull << 20;
  uint64_t ingest_buffer_bytes = 128ull << 20;
  uint64_t grpc_connection_age_nano = 300'000'000'000;   // then a connection's peer is asked to come anew; 0: never
  uint64_t grpc_connection_grace_nano = 20'000'000'000;  // for calls under way then: twice what exporters wait for
  uint64_t retry_delay_nano = 1'000'000'000;             // what overloaded answers ask clients to wait
  size_t http_threads = 2;
  net::ListenerSecurity security;  // of every listener
  std::string cors_allow_origin;   // "*" or one origin, for browsers' SDKs; empty: no CORS headers
  store::BatchLimits limits;
  std::shared_ptr<SpanObserver> observer;    // sees every span that is taken in; may be none
  std::shared_ptr<const Redactor> redactor;  // applied to all spans first; null: nothing is redacted
};

struct CollectorAddresses {
  std::string otlp_grpc;  // HOST:PORT as bound; empty when that listener is off
  std::string otlp_http;
  std::string ingest;
};

class Collector {
 public:
  Collector(CollectorOptions options, store::SpanStore& store);
  ~Collector();  // stop(0)

  Result<CollectorAddresses> start();
  // Takes max_request_bytes, budget_bytes, limits and redactor of `options`, for requests to come. Of a budget that has
  // no room for the batches that agents were told they may make the log says so, and the least that has is taken.
  void set_limits(const CollectorOptions& options);
  // Takes no more requests, lets those under way be answered for `grace_nano`, and cuts off the rest. Idempotent.
  void stop(uint64_t grace_nano);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fathom::collector
