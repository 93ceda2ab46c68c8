// A ring and slots of any bytes: what is read is within them, in order of their numbers, and no more than there is.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "node-agent/kernel/decode.h"
#include "node-agent/kernel/event_text.h"
#include "node-agent/kernel/ring_reader.h"
#include "node-agent/kernel/thread_slots.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fathom::agent;
  using namespace fathom::agent::kernel;
  constexpr uint64_t kCapacity = 128;
  RingHeader header{};
  std::vector<Record> records(kCapacity);
  std::vector<SlotSet> slots(4);
  uint64_t begin_nano = 0;
  auto take = [&](void* to, size_t bytes) {
    bytes = std::min(bytes, size);
    std::memcpy(to, data, bytes);
    data += bytes;
    size -= bytes;
  };
  take(&begin_nano, sizeof begin_nano);
  take(&header, sizeof header);
  take(slots.data(), slots.size() * sizeof(SlotSet));
  take(records.data(), records.size() * sizeof(Record));
  uint64_t handed_over = 0;
  uint64_t last = UINT64_MAX;
  const RingLosses losses = read_ring({&header, records.data(), kCapacity}, begin_nano, [&](const Record& record) {
    if (record.sequence >= last || ++handed_over > kCapacity) std::abort();
    last = record.sequence;
    if (auto event = decode_record(record)) event_text(*event, begin_nano);
  });
  if (handed_over + losses.torn > kCapacity || losses.overwritten > 0) std::abort();
  read_slots(slots, begin_nano, [](const KernelEvent& event) { event_text(event, 0); });
  return 0;
}
