// Any bytes as the messages of an agent's stream: each is a length of two bytes and as many bytes, or, with the
// length's top bit set, an event of the connection. No fault in memory, and never more acknowledgements than batches.
#include <cstdint>
#include <cstdlib>

#include "base/bytes.h"
#include "collector/testing/agent_peer.h"
#include "collector/testing/fake_store.h"

namespace {

using namespace fathom;
using namespace fathom::collector;

std::shared_ptr<const SessionContext> context(store::SpanStore& store) {
  auto made = std::make_shared<SessionContext>();
  made->ingest = std::make_shared<Ingest>(IngestOptions{.budget_bytes = 1 << 20}, store);
  made->nodes = std::make_shared<NodeRegistry>(RegistryOptions{.max_nodes = 2});
  made->limits = {.max_batch_bytes = 4096, .max_unacknowledged_bytes = 8192, .max_unacknowledged_batches = 4};
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
  auto shared = context(store);
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
  if (wire->messages().size() > messages) std::abort();
  session->closed();
  return 0;
}
