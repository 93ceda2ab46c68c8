// Any bytes as a chunk of a detail pool: walked, settled against another copy, walked again, and decoded by a table.
//
// Input: the size of the table (u16), the table, then the chunk, whose epoch is its first record's.
#include <cstdlib>
#include <cstring>

#include "node-agent/detail/event_decoder.h"
#include "node-agent/detail/record_walk.h"

namespace {

using namespace fathom::agent;

void walk(const ChunkView& chunk, const TracepointTable& table) {
  RecordWalk walk(chunk);
  DetailRecord record;
  std::vector<FieldValue> values;
  uint64_t records = 0;
  while (walk.next(record)) {
    ++records;
    if (record.payload.data() < chunk.bytes.data() ||
        record.payload.data() + record.payload.size() > chunk.bytes.data() + chunk.bytes.size() ||
        record.spans.size() > RecordWalk::kMostSpans) {
      std::abort();
    }
    const Tracepoint* tracepoint = table.find(record.kind);
    if (tracepoint == nullptr) continue;
    decode_payload(*tracepoint, record.payload, record.long_form, values);
    to_text({.tracepoint = tracepoint, .values = values});
  }
  if (records * fathom::pool::kLeastRecordBytes > chunk.bytes.size() || walk.end() > chunk.bytes.size()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fathom;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  uint16_t table_bytes = 0;
  if (size < sizeof table_bytes) return 0;
  std::memcpy(&table_bytes, data, sizeof table_bytes);
  input.remove_prefix(sizeof table_bytes);
  std::string_view text = input.substr(0, table_bytes);
  TracepointTable table = TracepointTable::decode(text, text);
  std::string chunk(input.substr(text.size()).substr(0, pool::kLargeBytes));
  if (chunk.size() < pool::kLeastRecordBytes) return 0;
  ChunkView view{.bytes = chunk, .first_ticks = uint64_t{1} << 50};
  std::memcpy(&view.epoch, chunk.data() + pool::kEpochOffset, sizeof view.epoch);
  walk(view, table);
  view.table = &table;
  walk(view, table);
  std::string first = chunk;
  for (size_t at = 8; at + 4 <= first.size(); at += 40) first[at] ^= 1;
  size_t end = settle(first, chunk.data(), view);
  if (end > chunk.size()) std::abort();
  view.bytes = view.bytes.substr(0, end);
  walk(view, table);
  return 0;
}
