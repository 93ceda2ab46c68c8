// AgentSession: one agent's stream without its transport: what each message means, and what is answered.
//
// Purpose: the rules of docs/formats/ingest-stream.md in one place that tests and the fuzz target drive without gRPC:
// Hello first, sequences counted up by one, no more under way than Welcome allows; whoever breaks a rule is cut off,
// and counted. A batch is acknowledged when its spans are durable; under overload the answer is RETRY.
// Thread safety: message() and half_closed() from one thread at a time, drain() and closed() from any; acknowledgements
// come from the store's threads. Ownership: held by shared_ptr; batches under way keep it alive. The wire may go
// first: the session holds it weakly.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/byte_budget.h"
#include "base/time.h"
#include "collector/agents/agent_redaction.h"
#include "collector/agents/node_keys.h"
#include "collector/agents/node_streams.h"
#include "collector/agents/registry.h"
#include "collector/agents/session_captures.h"
#include "collector/agents/session_wire.h"
#include "collector/agents/stream_end.h"
#include "collector/ingest.h"
#include "ingest/agent_messages.h"

namespace fathom::collector {

void list_session_metrics();  // at 0, before anything happens

struct SessionLimits {
  std::string collector_version = "dev";
  uint64_t max_batch_bytes = 4ull << 20;
  uint64_t max_unacknowledged_bytes = 8ull << 20;
  uint32_t max_unacknowledged_batches = 256;
  uint64_t max_capture_bytes_under_way = 8ull << 20;
};

// What all sessions share. Those that may be null are marked so.
struct SessionContext {
  std::shared_ptr<Ingest> ingest;
  std::shared_ptr<NodeRegistry> nodes;
  SessionLimits limits;
  std::function<uint64_t()> now_unix_nano = fathom::now_unix_nano;
  std::shared_ptr<CaptureIntake> captures = nullptr;    // null: none are taken
  std::shared_ptr<NodeStreams> streams = nullptr;       // null: nobody asks agents for anything
  std::shared_ptr<NodeAnswers> answers = nullptr;       // null: nobody listens
  std::shared_ptr<NodeKeys> keys = nullptr;             // null: node ids have no keys
  std::shared_ptr<AgentRedaction> redaction = nullptr;  // null: captures are accepted as they are
};

class AgentSession : public std::enable_shared_from_this<AgentSession> {
 public:
  AgentSession(std::shared_ptr<const SessionContext> context, std::weak_ptr<SessionWire> wire);
  ~AgentSession();

  // `memory` is what `bytes` lie in; it is given back when they are decoded. `received_unix_nano` is when they came.
  void message(std::string_view bytes, Reservation memory, uint64_t received_unix_nano);
  // A message of so many bytes for which there was no memory; `begin` is what is at hand of it.
  void no_room(std::string_view begin, uint64_t bytes);
  void half_closed();   // the agent sends nothing more
  void hello_is_due();  // ends the stream unless there was a Hello
  void silent();        // ends the stream, unless the agent had said that nothing more comes
  void drain();         // no more batches are taken; the stream ends when those under way are answered
  void closed();        // the connection is gone
  void refuse(StreamEnd end, const std::string& message) { fail(end, message); }

 private:
  struct Charge {
    uint64_t sequence = 0;
    uint64_t bytes = 0;
  };

  void take(ingest::Hello& hello);
  bool is_admitted(const ingest::Hello& hello);  // false: the stream has ended
  void take(const ingest::Batch& batch, Reservation memory);
  void take(const ingest::ClockProbe& probe, uint64_t received_unix_nano);
  void take(ingest::NodeStatus& report);
  void take(ingest::CaptureBegin& begin);
  void take(const ingest::CapturePart& part);
  void take(ingest::SlowTrace& trace);
  void take(ingest::SkippedCaptures& skipped);
  void take(CaptureAnswer& answer);
  void take(TracepointAnswer& answer);
  void end_for(const std::optional<Breach>& breach);
  std::shared_ptr<SessionCaptures> make_captures();
  std::shared_ptr<SessionCaptures> captures();
  void welcome();
  void be_asked(uint64_t period_nano);
  void send_redaction_rules();
  void no_room_for_batch(uint64_t sequence, uint64_t bytes);
  bool no_room_for_others(std::string_view begin, uint64_t bytes);
  bool open();
  bool ended();
  bool next_sequence(uint64_t sequence);
  std::optional<std::string> charge(uint64_t bytes);
  void answered(const Charge& charge, const Answer& answer);
  void acknowledge(const ingest::Ack& ack);
  void end_if_idle();
  void fail(StreamEnd end, const std::string& message);
  void leave(StreamEnd end);

  const std::shared_ptr<const SessionContext> context_;
  const std::weak_ptr<SessionWire> wire_;

  std::mutex mutex_;
  bool open_ = false;
  bool ended_ = false;
  bool half_closed_ = false;
  bool draining_ = false;
  bool is_asked_ = false;  // NodeStreams has it
  bool takes_redaction_rules_ = false;
  uint64_t stream_ = 0;  // the registry's number: set before open_
  NodeId node_id_;       // as Hello had it: set before open_
  std::string host_name_;
  std::shared_ptr<SessionCaptures> captures_;  // since Hello
  uint64_t sequence_ = 0;
  uint64_t under_way_bytes_ = 0;
  uint32_t under_way_batches_ = 0;
};

}  // namespace fathom::collector
