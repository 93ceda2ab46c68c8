// A whole pool, changed at any places: opened, read as of a living and of a dead program, and read again by a
// successor.
//
// Input: patches of {offset: u32, size: u8, bytes} to a pool that is in order.
#include <fcntl.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "node-agent/pool/pool_reader.h"
#include "node-agent/testing/scripted_pool.h"

namespace fathom::agent {
namespace {

class CountingSink : public SpanSink {
 public:
  bool span(const SpanRecordView& view) override {
    sum += view.name.size() + view.items.size();
    for (char byte : view.items) sum += static_cast<unsigned char>(byte);  // every byte is there
    return view.head.kind != 2;
  }
  uint64_t sum = 0;
};

void write_valid(testing::ScriptedPool& pool) {
  for (uint32_t chunk = 0; chunk < 3; ++chunk) {
    pool.claim(chunk);
    for (uint64_t i = 0; i < 5; ++i) pool.put(chunk, testing::make_record(i, "name"));
  }
  pool.seal(0);
  pool.reserve(1, 80);
  pool.header().batch_sequence.store(1);
  pool.entry(2).reader_epoch.store(1);
  pool.entry(2).sending.store(160);
}

void patch(testing::ScriptedPool& pool, std::string_view input) {
  char* memory = reinterpret_cast<char*>(&pool.header());
  while (input.size() > 5) {
    uint32_t offset;
    std::memcpy(&offset, input.data(), sizeof offset);
    size_t size = std::min<size_t>(static_cast<uint8_t>(input[4]), input.size() - 5);
    size_t room = pool.bytes() - offset % pool.bytes();
    std::memcpy(memory + offset % pool.bytes(), input.data() + 5, std::min(size, room));
    input.remove_prefix(5 + size);
  }
}

void read(testing::ScriptedPool& pool, bool ended, AgentLosses& losses) {
  Result<PoolFile> file = PoolFile::open(pool.descriptor(), 0);
  if (!file) return;
  PoolReader reader(*std::move(file), 7, losses);
  for (int i = 0; i < 8; ++i) {
    CountingSink sink;
    reader.new_resource(ended);
    reader.count_losses(1);
    bool resumed = reader.resumes();
    Collected collected = resumed ? reader.collect_again(sink) : reader.collect(sink, 20'000, ended);
    if (collected.read_bytes > PoolReader::kMostBatchBytes) std::abort();
    if (collected.spans > 0 && !resumed) reader.begin();
    if (i == 3) return;  // and a successor finds it like that
    if (reader.under_way()) reader.acknowledge();
  }
}

}  // namespace
}  // namespace fathom::agent

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fathom::agent;
  static AgentLosses losses;
  testing::ScriptedPool pool(4);
  write_valid(pool);
  patch(pool, {reinterpret_cast<const char*>(data), size});
  read(pool, false, losses);
  read(pool, true, losses);
  return 0;
}
