#include "snapshot/format/perf_records.h"

#include <linux/perf_event.h>

#include <bit>

#include "base/bytes.h"

namespace fathom::snapshot {
namespace {

constexpr uint64_t kIdFields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
                               PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
constexpr uint32_t kFirstOfTheTool = 64;  // PERF_RECORD_USER_TYPE_START: written by the tool perf, not by the kernel

Error corrupt_record(uint32_t type, const std::string& what) {
  return corrupt("a perf record of type " + std::to_string(type) + " " + what);
}

size_t id_bytes(const PerfLayout& layout) {
  if (!layout.sample_id_all) return 0;
  return static_cast<size_t>(std::popcount(layout.sample_type & kIdFields)) * sizeof(uint64_t);
}

void read_tid(ByteReader& reader, PerfSampleId& id) {
  id.pid = reader.fixed<int32_t>();
  id.tid = reader.fixed<int32_t>();
}

void read_sample_cpu(ByteReader& reader, PerfSampleId& id) {
  id.cpu = reader.fixed<int32_t>();
  reader.u32();
}

// What ends every record but a sample.
PerfSampleId read_sample_id(std::string_view bytes, uint64_t fields) {
  ByteReader reader(bytes);
  PerfSampleId id;
  if (fields & PERF_SAMPLE_TID) read_tid(reader, id);
  if (fields & PERF_SAMPLE_TIME) id.time_nano = reader.u64();
  if (fields & PERF_SAMPLE_ID) id.id = reader.u64();
  if (fields & PERF_SAMPLE_STREAM_ID) reader.u64();
  if (fields & PERF_SAMPLE_CPU) read_sample_cpu(reader, id);
  if (fields & PERF_SAMPLE_IDENTIFIER) id.id = reader.u64();
  return id;
}

// What begins a sample.
std::optional<PerfSampleId> read_sample(std::string_view bytes, uint64_t fields) {
  ByteReader reader(bytes);
  PerfSampleId id;
  if (fields & PERF_SAMPLE_IDENTIFIER) id.id = reader.u64();
  if (fields & PERF_SAMPLE_IP) id.instruction = reader.u64();
  if (fields & PERF_SAMPLE_TID) read_tid(reader, id);
  if (fields & PERF_SAMPLE_TIME) id.time_nano = reader.u64();
  if (fields & PERF_SAMPLE_ADDR) reader.u64();
  if (fields & PERF_SAMPLE_ID) id.id = reader.u64();
  if (fields & PERF_SAMPLE_STREAM_ID) reader.u64();
  if (fields & PERF_SAMPLE_CPU) read_sample_cpu(reader, id);
  if (reader.failed()) return std::nullopt;
  return id;
}

}  // namespace

Result<std::optional<std::string_view>> split_perf_record(std::string_view bytes) {
  if (bytes.size() < sizeof(perf_event_header)) return std::optional<std::string_view>();
  perf_event_header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.size < sizeof header) return corrupt_record(header.type, "is shorter than its own header");
  if (header.size > bytes.size()) return std::optional<std::string_view>();
  return std::optional(bytes.substr(0, header.size));
}

Result<PerfRecord> parse_perf_record(std::string_view bytes, const PerfLayout& layout) {
  if (bytes.size() < sizeof(perf_event_header)) return corrupt("a perf record ends within its header");
  perf_event_header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  PerfRecord record{header.type, header.misc, bytes.substr(sizeof header), {}};
  if (header.type >= kFirstOfTheTool) return record;
  if (header.type == PERF_RECORD_SAMPLE) {
    auto id = read_sample(record.payload, layout.sample_type);
    if (!id) return corrupt_record(header.type, "ends within its fields");
    record.id = *id;
    return record;
  }
  const size_t behind = id_bytes(layout);
  if (behind > record.payload.size()) return corrupt_record(header.type, "has no room for its id");
  record.id = read_sample_id(record.payload.substr(record.payload.size() - behind), behind ? layout.sample_type : 0);
  record.payload.remove_suffix(behind);
  return record;
}

uint64_t tsc_of_time(const Timing& timing, uint64_t time_nano) {
  if (timing.conversion_mult == 0 || timing.conversion_shift >= 64) return 0;
  // The zero may lie before the beginning of the clock: the difference is taken modulo 2^64, as the kernel does.
  const uint64_t since = time_nano - timing.conversion_zero_nano;
  return static_cast<uint64_t>((static_cast<unsigned __int128>(since) << timing.conversion_shift) /
                               timing.conversion_mult);
}

uint64_t time_of_tsc(const Timing& timing, uint64_t tsc) {
  if (timing.conversion_mult == 0 || timing.conversion_shift >= 64) return 0;
  return timing.conversion_zero_nano +
         static_cast<uint64_t>((static_cast<unsigned __int128>(tsc) * timing.conversion_mult) >>
                               timing.conversion_shift);
}

}  // namespace fathom::snapshot
