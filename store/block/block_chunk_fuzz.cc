// Every decoder of one chunk's body, on arbitrary bytes: no crash, no hang, no memory beyond the format's limits.
//
// Input: which decoder (u8), rows (u16), traces (u8), operations (u8) of the block that the chunk would belong to,
// body.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "store/block/chunk_reader.h"
#include "store/block/columns.h"
#include "store/block/detail_chunks.h"
#include "store/block/filter.h"
#include "store/block/row_chunks.h"
#include "store/block/shapes_chunk.h"
#include "store/block/shared_table.h"

namespace {

using namespace fathom;
using namespace fathom::store;
using namespace fathom::store::block;

BlockZone zone_of(ByteReader& in) {
  BlockZone zone;
  zone.rows = in.u8();
  zone.rows = std::max<uint32_t>(1, zone.rows | uint32_t{in.u8()} << 8);
  zone.traces = std::clamp<uint32_t>(in.u8(), 1, zone.rows);
  uint32_t operations = std::max<uint32_t>(1, in.u8());
  for (uint32_t i = 0; i < operations; ++i) zone.operations.push_back(7 + 3 * i);
  return zone;
}

DecodedTraces some_traces(const BlockZone& zone) {
  DecodedTraces traces;
  uint32_t row = 0;
  for (uint32_t i = 0; i < zone.traces; ++i) {
    uint32_t end = i + 1 == zone.traces ? zone.rows : row + 1;
    traces.traces.push_back({TraceId{}, row, end - row, {}});
    traces.root_row.push_back(i % 2 == 0 ? 0 : kNone);
    row = end;
  }
  return traces;
}

void decode_column(std::string_view body) {
  ChunkReader in{ChunkBody(body)};
  ColumnReader reader;
  if (!reader.read(in)) return;
  for (const char* text : {"", "7", "true", "0.5", "value-3", "nan", "00000000-0000-0000-0000-000000000000", "00ff"}) {
    (void)reader.values().find(text);
  }
  Arena arena;
  std::vector<ValueView> values = reader.values().views(arena);
  std::vector<uint32_t> codes;
  if (!reader.read_codes(in, codes)) return;
  for (uint32_t code : codes) (void)value_text(values.at(code)).size();
}

void ask_filter(std::string_view body, uint32_t blocks) {
  Result<FilterPage> page = FilterPage::open(body);
  if (!page.ok() || page->parts() != 2 * size_t{blocks} + 1) return;
  for (uint32_t block = 0; block < blocks; ++block) (void)page->may_contain(block, 2, 0x9e3779b97f4a7c15 * block).any();
}

void decode_some(uint8_t which, const BlockZone& zone, std::string_view body) {
  std::vector<uint32_t> operations(zone.rows, 0), resources;
  Arena arena;
  DecodedTraces traces;
  DecodedTimes times;
  BlockIds ids;
  DecodedShapes shapes;
  DecodedDetails details;
  DecodedEvents events;
  DecodedLinks links;
  switch (which % 12) {
    case 0:
      return (void)decode_traces(body, zone, traces);
    case 1:
      return (void)decode_times(body, zone, some_traces(zone), times);
    case 2:
      return (void)decode_ids(body, zone, some_traces(zone), ids);
    case 3:
      return (void)decode_shapes(body, zone, shapes);
    case 4:
      return (void)decode_details(body, zone, operations, arena, details);
    case 5:
      return (void)decode_resources(body, zone, operations, resources);
    case 6:
      return (void)decode_events(body, zone, arena, events);
    case 7:
      return (void)decode_links(body, zone, arena, links);
    case 8:
      return decode_column(body);
    case 9:
      return (void)SharedPage::parse(body, zone.traces);
    case 11:
      return ask_filter(body, zone.traces);
    default: {
      ByteReader in(body);
      return (void)decode_summary(in);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ByteReader in({reinterpret_cast<const char*>(data), size});
  uint8_t which = in.u8();
  BlockZone zone = zone_of(in);
  if (in.failed()) return 0;
  decode_some(which, zone, in.raw(in.remaining()));
  return 0;
}
