// Any bytes as the messages of an agent's stream: each is a length of two bytes and as many bytes, or, with the
// length's top bit set, an event of the connection. No fault in memory, never more answers than messages, and no upload
// that stays open.
#include <cstdint>
#include <cstdlib>

#include "base/bytes.h"
#include "base/utf8.h"
#include "collector/testing/agent_peer.h"
#include "collector/testing/fake_captures.h"
#include "collector/testing/fake_store.h"

namespace {

using namespace fathom;
using namespace fathom::collector;

// Reads all that it is told.
class Listener : public NodeAnswers {
 public:
  void node_connected(const NodeId&) override {}
  void node_gone(const NodeId&) override {}
  void answered(const NodeId&, CaptureAnswer answer) override { check_text(answer.skipped); }
  void answered(const NodeId&, TracepointAnswer answer) override {
    check_text(answer.failure);
    for (const ProgramTracepoints& program : answer.programs) {
      for (const TracepointState& tracepoint : program.tracepoints) check_text(tracepoint.name);
    }
  }
  void slow_trace(const NodeId&, ingest::SlowTrace) override {}
  void capture_begins(const NodeId&, const store::CaptureInfo& info) override { (void)store::check(info); }

 private:
  static void check_text(const std::string& text) {
    if (text.size() > 256 || !is_utf8(text)) std::abort();
  }
};

std::shared_ptr<const SessionContext> context(store::SpanStore& store, std::shared_ptr<CaptureIntake> captures) {
  auto made = std::make_shared<SessionContext>();
  made->ingest = std::make_shared<Ingest>(IngestOptions{.budget_bytes = 1 << 20}, store);
  made->nodes = std::make_shared<NodeRegistry>(RegistryOptions{.max_nodes = 2});
  made->limits = {.max_batch_bytes = 4096,
                  .max_unacknowledged_bytes = 8192,
                  .max_unacknowledged_batches = 4,
                  .max_capture_bytes_under_way = 512};
  made->captures = std::move(captures);
  made->streams = std::make_shared<NodeStreams>();
  made->answers = std::make_shared<Listener>();
  return made;
}

void event(AgentSession& session, collector::testing::FakeStore& store, uint16_t which, std::string_view rest) {
  switch (which & 7) {
    case 0:
      return session.half_closed();
    case 1:
      return session.drain();
    case 2:
      return store.hold();
    case 3:
      return store.release();
    case 4:
      return session.no_room(rest, which);
    case 5:
      return session.hello_is_due();
    default:
      return session.closed();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  collector::testing::FakeStore store;
  collector::testing::FakeCaptures captures;
  auto intake = std::make_shared<CaptureIntake>(
      CaptureIntakeOptions{.budget_bytes = 1024, .most_bytes = 4096, .retry_delay_nano = 1, .threads = 1}, captures);
  auto shared = context(store, intake);
  auto wire = std::make_shared<collector::testing::RecordingWire>();
  auto session = std::make_shared<AgentSession>(shared, wire);
  ByteReader in(std::string_view(reinterpret_cast<const char*>(data), size));
  size_t messages = 0;
  while (!in.at_end()) {
    uint16_t head = in.u8();
    head = static_cast<uint16_t>(head | in.u8() << 8);
    if (in.failed()) break;
    ++messages;
    if (head & 0x8000) {
      event(*session, store, head, std::string_view(in.position(), in.remaining()));
    } else {
      session->message(in.raw(std::min<size_t>(head, in.remaining())), shared->ingest->open(), 1);
    }
  }
  store.release();
  session->closed();
  intake->stop();
  if (wire->messages().size() > messages) std::abort();
  if (captures.stats().writers > 0) std::abort();
  return 0;
}
