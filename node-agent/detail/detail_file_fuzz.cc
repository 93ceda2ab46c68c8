// A whole detail pool, changed at any places: opened, and read in both modes, between changes and after them.
//
// Input: patches of {offset: u32, size: u8, bytes} to a pool that is in order. The upper bit of the size: made in the
// middle of the first snapshot.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "node-agent/detail/detail_reader.h"
#include "node-agent/testing/detail_events.h"

namespace fathom::agent {
namespace {

constexpr uint64_t kBudget = 50'000;

void write_valid(testing::ScriptedDetail& pool) {
  testing::describe_numbered(pool);
  for (uint32_t chunk = 0; chunk < 4; ++chunk) {
    pool.claim(chunk, 1000);
    pool.put(chunk, testing::owner_record(7, 1000));
    for (uint64_t i = 0; i < 5; ++i) pool.put(chunk, testing::numbered_record(i, 1000 + i, i * 40));
  }
  pool.seal(1, 2000);
  pool.seal(3, 2000);
}

// Offsets: below 2^30 the header and the entries, then the table, then the chunks.
uint64_t place_of(const testing::ScriptedDetail& pool, uint32_t offset) {
  constexpr uint64_t kTable = 2 * pool::kPageBytes, kChunks = kTable + pool::kTableBytes;
  if (offset >> 30 == 0) return offset % kTable;
  if (offset >> 30 == 1) return kTable + offset % pool::kTableBytes;
  return kChunks + offset % (pool.bytes() - kChunks);
}

void patch(testing::ScriptedDetail& pool, std::string_view input, bool later) {
  while (input.size() > 5) {
    uint32_t offset;
    std::memcpy(&offset, input.data(), sizeof offset);
    auto head = static_cast<uint8_t>(input[4]);
    size_t size = std::min<size_t>(head & 127, input.size() - 5);
    uint64_t at = place_of(pool, offset);
    if (later == (head > 127)) {
      std::memcpy(pool.memory() + at, input.data() + 5, std::min<size_t>(size, pool.bytes() - at));
    }
    input.remove_prefix(5 + size);
  }
}

void read(DetailReader& reader) {
  DetailSnapshot snapshot = reader.snapshot({}, kBudget);
  if (snapshot.bytes() > kBudget) std::abort();
  size_t sum = 0;
  decode(snapshot, [&](const EventView& event) { sum += to_text(event).size(); });
  snapshot.losses.list();
}

}  // namespace
}  // namespace fathom::agent

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fathom::agent;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  testing::ScriptedDetail pool({.large = 2, .small = 2});
  write_valid(pool);
  patch(pool, input, false);
  fathom::Result<DetailFile> file = DetailFile::open(pool.descriptor(), 0);
  if (!file) return 0;
  int steps = 0;
  DetailReader reader(*std::move(file), [&] {
    if (++steps % 5 == 0) patch(pool, input, true);
  });
  read(reader);
  read(reader);
  return 0;
}
