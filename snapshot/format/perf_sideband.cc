// What a record of perf says of the history of processes.
#include <linux/perf_event.h>
#include <sys/mman.h>

#include <algorithm>

#include "base/bytes.h"
#include "snapshot/format/perf_records.h"

namespace fathom::snapshot {
namespace {

constexpr size_t kMostBuildIdBytes = 20;
constexpr uint64_t kKernelHalf = uint64_t{1} << 63;

Error too_short(const PerfRecord& record) {
  return corrupt("a perf record of type " + std::to_string(record.type) + " ends within its fields");
}

uint32_t aux_flags(uint64_t flags) {
  uint32_t ours = 0;
  if (flags & PERF_AUX_FLAG_TRUNCATED) ours |= kFlagAuxTruncated;
  if (flags & PERF_AUX_FLAG_OVERWRITE) ours |= kFlagAuxOverwritten;
  if (flags & PERF_AUX_FLAG_PARTIAL) ours |= kFlagAuxPartial;
  if (flags & PERF_AUX_FLAG_COLLISION) ours |= kFlagAuxCollision;
  return ours;
}

PerfAux read_aux(ByteReader& reader) {
  PerfAux aux;
  aux.offset = reader.u64();
  aux.bytes = reader.u64();
  aux.flags = aux_flags(reader.u64());
  return aux;
}

// Text in the rest of a record: ended by a zero, and filled up with zeros.
std::string rest_as_text(ByteReader& reader) {
  const std::string_view rest = reader.raw(reader.remaining());
  return std::string(rest.substr(0, rest.find('\0')));
}

bool of_kernel(const PerfRecord& record) {
  const uint16_t mode = record.misc & PERF_RECORD_MISC_CPUMODE_MASK;
  return mode == PERF_RECORD_MISC_KERNEL || mode == PERF_RECORD_MISC_GUEST_KERNEL;
}

std::optional<PerfSideband> mapping_row(const PerfRecord& record, Sideband row, PerfMapping mapping) {
  // A mapping beyond the end of the address space is of nobody.
  if (row.length > UINT64_MAX - row.address) row.length = UINT64_MAX - row.address;
  row.kind = SidebandKind::kMap;
  row.tid = -1;
  if (of_kernel(record) || row.address >= kKernelHalf) {
    row.flags |= kFlagKernel;
    row.pid = -1;
  }
  return PerfSideband{std::move(row), std::move(mapping)};
}

void read_place(ByteReader& reader, Sideband& row) {
  row.pid = reader.fixed<int32_t>();
  row.tid = reader.fixed<int32_t>();
  row.address = reader.u64();
  row.length = reader.u64();
  row.file_offset = reader.u64();
}

std::optional<PerfSideband> read_mmap(const PerfRecord& record, ByteReader& reader, Sideband row) {
  read_place(reader, row);
  PerfMapping mapping;
  mapping.file = rest_as_text(reader);
  if (record.misc & PERF_RECORD_MISC_MMAP_DATA) return std::nullopt;
  return mapping_row(record, std::move(row), std::move(mapping));
}

void read_build_id(ByteReader& reader, PerfMapping& mapping) {
  const size_t bytes = std::min<size_t>(reader.u8(), kMostBuildIdBytes);
  reader.raw(3);
  mapping.build_id = reader.raw(kMostBuildIdBytes).substr(0, bytes);
}

void read_inode(ByteReader& reader, PerfMapping& mapping) {
  mapping.device_major = reader.u32();
  mapping.device_minor = reader.u32();
  mapping.inode = reader.u64();
  reader.u64();  // its generation
}

std::optional<PerfSideband> read_mmap2(const PerfRecord& record, ByteReader& reader, Sideband row) {
  read_place(reader, row);
  PerfMapping mapping;
  if (record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
    read_build_id(reader, mapping);
  else
    read_inode(reader, mapping);
  const uint32_t protection = reader.u32();
  reader.u32();  // flags of mmap()
  mapping.file = rest_as_text(reader);
  // The tool perf writes 0 for what it found in /proc before 5.x, and only of executable ones.
  const bool data = (record.misc & PERF_RECORD_MISC_MMAP_DATA) != 0 || (protection != 0 && !(protection & PROT_EXEC));
  if (data) return std::nullopt;
  return mapping_row(record, std::move(row), std::move(mapping));
}

std::optional<PerfSideband> read_comm(const PerfRecord& record, ByteReader& reader, Sideband row) {
  row.kind = SidebandKind::kName;
  row.pid = reader.fixed<int32_t>();
  row.tid = reader.fixed<int32_t>();
  row.text = rest_as_text(reader);
  if (record.misc & PERF_RECORD_MISC_COMM_EXEC) row.flags |= kFlagExec;
  return PerfSideband{std::move(row), {}};
}

// Both have the same fields; the time in their middle is the one of their id, which not every layout has.
std::optional<PerfSideband> read_life(const PerfRecord& record, ByteReader& reader, Sideband row,
                                      const Timing& timing) {
  row.kind = record.type == PERF_RECORD_FORK ? SidebandKind::kFork : SidebandKind::kExit;
  row.pid = reader.fixed<int32_t>();
  row.other_pid = reader.fixed<int32_t>();
  row.tid = reader.fixed<int32_t>();
  row.other_tid = reader.fixed<int32_t>();
  row.tsc = tsc_of_time(timing, reader.u64());
  if (row.kind == SidebandKind::kExit) row.other_pid = row.other_tid = -1;
  return PerfSideband{std::move(row), {}};
}

std::optional<PerfSideband> read_switch(const PerfRecord& record, ByteReader& reader, Sideband row) {
  row.kind = record.misc & PERF_RECORD_MISC_SWITCH_OUT ? SidebandKind::kSwitchOut : SidebandKind::kSwitchIn;
  if (row.kind == SidebandKind::kSwitchOut && (record.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT))
    row.flags |= kFlagPreempted;
  if (record.type == PERF_RECORD_SWITCH_CPU_WIDE) {
    row.other_pid = reader.fixed<int32_t>();
    row.other_tid = reader.fixed<int32_t>();
  }
  return PerfSideband{std::move(row), {}};
}

std::optional<PerfSideband> read_trace_start(ByteReader& reader, Sideband row) {
  row.kind = SidebandKind::kTraceStart;
  row.pid = reader.fixed<int32_t>();
  row.tid = reader.fixed<int32_t>();
  return PerfSideband{std::move(row), {}};
}

std::optional<PerfSideband> read_lost(const PerfRecord& record, ByteReader& reader, Sideband row) {
  row.kind = SidebandKind::kLost;
  if (record.type == PERF_RECORD_LOST) reader.u64();  // the event's id
  row.length = reader.u64();
  return PerfSideband{std::move(row), {}};
}

std::optional<PerfSideband> read_aux_loss(ByteReader& reader, Sideband row) {
  const PerfAux aux = read_aux(reader);
  // That an overwriting area was overwritten is its purpose.
  if ((aux.flags & ~uint32_t{kFlagAuxOverwritten}) == 0) return std::nullopt;
  row.kind = SidebandKind::kAuxLoss;
  row.address = aux.offset;
  row.length = aux.bytes;
  row.flags = aux.flags;
  return PerfSideband{std::move(row), {}};
}

std::optional<PerfSideband> read_kernel_symbol(ByteReader& reader, Sideband row) {
  row.kind = SidebandKind::kKernelSymbol;
  row.pid = row.tid = -1;
  row.address = reader.u64();
  row.length = reader.u32();
  reader.fixed<uint16_t>();  // its type
  const uint16_t flags = reader.fixed<uint16_t>();
  row.flags = kFlagKernel | (flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER ? uint32_t{kFlagGone} : 0);
  row.text = rest_as_text(reader);
  return PerfSideband{std::move(row), {}};
}

std::optional<PerfSideband> read_text_poke(ByteReader& reader, Sideband row) {
  row.kind = SidebandKind::kTextPoke;
  row.pid = row.tid = -1;
  row.flags = kFlagKernel;
  row.address = reader.u64();
  const uint16_t old_bytes = reader.fixed<uint16_t>();
  const uint16_t new_bytes = reader.fixed<uint16_t>();
  row.other_text = reader.raw(old_bytes);
  row.text = reader.raw(new_bytes);
  return PerfSideband{std::move(row), {}};
}

std::optional<PerfSideband> read_row(const PerfRecord& record, ByteReader& reader, Sideband row, const Timing& timing) {
  switch (record.type) {
    case PERF_RECORD_MMAP:
      return read_mmap(record, reader, std::move(row));
    case PERF_RECORD_MMAP2:
      return read_mmap2(record, reader, std::move(row));
    case PERF_RECORD_COMM:
      return read_comm(record, reader, std::move(row));
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
      return read_life(record, reader, std::move(row), timing);
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_SWITCH_CPU_WIDE:
      return read_switch(record, reader, std::move(row));
    case PERF_RECORD_ITRACE_START:
      return read_trace_start(reader, std::move(row));
    case PERF_RECORD_LOST:
    case PERF_RECORD_LOST_SAMPLES:
      return read_lost(record, reader, std::move(row));
    case PERF_RECORD_AUX:
      return read_aux_loss(reader, std::move(row));
    case PERF_RECORD_KSYMBOL:
      return read_kernel_symbol(reader, std::move(row));
    case PERF_RECORD_TEXT_POKE:
      return read_text_poke(reader, std::move(row));
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<std::optional<PerfSideband>> to_sideband(const PerfRecord& record, const Timing& timing) {
  ByteReader reader(record.payload);
  Sideband row;
  row.tsc = record.id.time_nano ? tsc_of_time(timing, *record.id.time_nano) : 0;
  row.cpu = record.id.cpu;
  row.pid = record.id.pid;
  row.tid = record.id.tid;
  std::optional<PerfSideband> made = read_row(record, reader, std::move(row), timing);
  if (reader.failed()) return too_short(record);
  return made;
}

Result<PerfAux> parse_perf_aux(const PerfRecord& record) {
  ByteReader reader(record.payload);
  const PerfAux aux = read_aux(reader);
  if (reader.failed()) return too_short(record);
  return aux;
}

}  // namespace fathom::snapshot
