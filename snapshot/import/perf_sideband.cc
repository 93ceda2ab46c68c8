#include "snapshot/import/perf_sideband.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

namespace fathom::snapshot::perf {
namespace {

constexpr size_t kMostRows = 2'000'000;  // some 300 MiB
constexpr uint64_t kMostTextBytes = 64 << 20;
constexpr size_t kMostImages = 100'000;
constexpr size_t kMostBuildIds = 100'000;
constexpr size_t kMostNameBytes = 4096;
constexpr size_t kInodeBytes = 24;  // major, minor, inode and generation, which a build-id may stand in place of
constexpr uint64_t kKernelAlignment = 2 << 20;
constexpr uint16_t kKernelSymbolGone = 1;

// Up to its first NUL.
std::string_view name_in(ByteReader& in) {
  const std::string_view rest = in.raw(in.remaining());
  return rest.substr(0, std::min(rest.find('\0'), kMostNameBytes));
}

uint16_t mode_of(const Record& record) {
  return record.misc & PERF_RECORD_MISC_CPUMODE_MASK;
}

std::string unused_record(uint32_t type) {
  static const std::map<uint32_t, const char*> kNames = {{PERF_RECORD_THROTTLE, "THROTTLE"},
                                                         {PERF_RECORD_UNTHROTTLE, "UNTHROTTLE"},
                                                         {PERF_RECORD_READ, "READ"},
                                                         {PERF_RECORD_SAMPLE, "SAMPLE"},
                                                         {PERF_RECORD_NAMESPACES, "NAMESPACES"},
                                                         {PERF_RECORD_BPF_EVENT, "BPF_EVENT"},
                                                         {PERF_RECORD_CGROUP, "CGROUP"},
                                                         {21, "AUX_OUTPUT_HW_ID"}};
  auto found = kNames.find(type);
  return std::string(Loss::kUnused) + (found == kNames.end() ? "type " + std::to_string(type) : found->second);
}

uint32_t aux_flags(uint64_t flags) {
  uint32_t ours = 0;
  if ((flags & PERF_AUX_FLAG_TRUNCATED) != 0) ours |= kFlagAuxTruncated;
  if ((flags & PERF_AUX_FLAG_OVERWRITE) != 0) ours |= kFlagAuxOverwritten;
  if ((flags & PERF_AUX_FLAG_PARTIAL) != 0) ours |= kFlagAuxPartial;
  if ((flags & PERF_AUX_FLAG_COLLISION) != 0) ours |= kFlagAuxCollision;
  return ours;
}

}  // namespace

Result<> PerfSideband::take(const Record& record, SampleIds& sample_ids) {
  if (record.type == PERF_RECORD_SAMPLE) return count(unused_record(record.type)), Result<>();
  std::string_view payload = record.payload;
  const SampleId id = sample_ids.take(payload);
  const ByteReader in(payload);
  switch (record.type) {
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
      return take_map(record, in, record.type == PERF_RECORD_MMAP2, id);
    case PERF_RECORD_COMM:
      return take_name(record, in, id);
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
      return take_task(record, in, id);
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_SWITCH_CPU_WIDE:
      return take_switch(record, in, id);
    case PERF_RECORD_ITRACE_START:
      return take_trace_start(in, id);
    case PERF_RECORD_AUX:
      return take_aux(in, id);
    case PERF_RECORD_LOST:
      return take_lost(in, id);
    case PERF_RECORD_LOST_SAMPLES:
      count("samples that the kernel lost", ByteReader(payload).u64());
      return {};
    case PERF_RECORD_KSYMBOL:
      return take_kernel_symbol(in, id);
    case PERF_RECORD_TEXT_POKE:
      return take_text_poke(in, id);
    default:
      count(unused_record(record.type));
      return {};
  }
}

Result<> PerfSideband::damaged(const char* what) {
  count(std::string("damaged records: ") + what);
  return {};
}

// For now its time is perf's; finish() makes it the counter's.
Sideband PerfSideband::row(SidebandKind kind, const SampleId& id) const {
  Sideband row;
  row.kind = kind;
  row.tsc = id.nano;
  row.cpu = id.cpu;
  row.pid = id.pid;
  row.tid = id.tid;
  return row;
}

Result<> PerfSideband::keep(Sideband row) {
  text_bytes_ += row.text.size() + row.other_text.size();
  if (rows_.size() >= kMostRows || text_bytes_ > kMostTextBytes) {
    return exhausted("the perf.data tells more of processes than a snapshot keeps (" + std::to_string(kMostRows) +
                     " records); record for a shorter time, or one program alone");
  }
  rows_.push_back(std::move(row));
  return {};
}

void PerfSideband::add_build_id(std::string_view name, std::string_view build_id) {
  if (build_ids_.size() >= kMostBuildIds || name.size() > kMostNameBytes) return;
  build_ids_.emplace(name, build_id);
}

uint32_t PerfSideband::image(std::string_view name, std::string_view build_id) {
  const ImageKey key{std::string(name), std::string(build_id)};
  auto found = image_numbers_.find(key);
  if (found != image_numbers_.end()) return found->second;
  if (images_.size() >= kMostImages) {
    count("images beyond what a snapshot keeps");
    return kNoImage;
  }
  const auto number = static_cast<uint32_t>(images_.size());
  images_.push_back({key.name, key.build_id, ImageKind::kElf, {}, 0, {}});
  image_numbers_.emplace(key, number);
  return number;
}

Result<> PerfSideband::take_map(const Record& record, ByteReader in, bool second, const SampleId& id) {
  Sideband map = row(SidebandKind::kMap, id);
  map.pid = in.fixed<int32_t>();
  map.tid = in.fixed<int32_t>();
  map.address = in.u64();
  map.length = in.u64();
  map.file_offset = in.u64();
  std::string_view build_id;
  uint32_t protection = PROT_EXEC;
  if (second) {
    const std::string_view identity = in.raw(kInodeBytes);
    protection = in.u32();
    in.u32();  // MAP_SHARED and the like
    if ((record.misc & kMiscMapBuildId) != 0 && !in.failed()) {
      build_id = identity.substr(4, std::min<size_t>(static_cast<uint8_t>(identity[0]), kBuildIdBytes));
    }
  } else if ((record.misc & PERF_RECORD_MISC_MMAP_DATA) != 0) {
    protection = 0;
  }
  const std::string_view name = name_in(in);
  if (in.failed()) return damaged("MMAP");
  if ((protection & PROT_EXEC) == 0) return {};
  return keep_map(record, std::move(map), name, build_id);
}

Result<> PerfSideband::keep_map(const Record& record, Sideband map, std::string_view name, std::string_view build_id) {
  const uint16_t mode = mode_of(record);
  const bool of_guest = mode == PERF_RECORD_MISC_GUEST_KERNEL || mode == PERF_RECORD_MISC_GUEST_USER;
  if (of_guest) return count("maps of virtual machines' guests"), Result<>();
  if (mode == PERF_RECORD_MISC_KERNEL || map.pid == -1) {
    map.flags |= kFlagKernel;
    map.pid = map.tid = -1;
    if (name.starts_with(kKernelImage)) {
      const bool is_stext = name.substr(kKernelImage.size()) == "_stext";
      kernel_.text_address = is_stext ? map.file_offset & ~(kKernelAlignment - 1) : map.file_offset;
      name = kKernelImage;
      map.file_offset = 0;
    }
  }
  map.image = image(name, build_id);
  return keep(std::move(map));
}

Result<> PerfSideband::take_name(const Record& record, ByteReader in, const SampleId& id) {
  Sideband name = row(SidebandKind::kName, id);
  name.pid = in.fixed<int32_t>();
  name.tid = in.fixed<int32_t>();
  if ((record.misc & PERF_RECORD_MISC_COMM_EXEC) != 0) name.flags = kFlagExec;
  if (in.failed()) return damaged("COMM");
  name.text = name_in(in);
  return keep(std::move(name));
}

Result<> PerfSideband::take_task(const Record& record, ByteReader in, const SampleId& id) {
  Sideband task = row(record.type == PERF_RECORD_FORK ? SidebandKind::kFork : SidebandKind::kExit, id);
  task.pid = in.fixed<int32_t>();
  task.other_pid = in.fixed<int32_t>();
  task.tid = in.fixed<int32_t>();
  task.other_tid = in.fixed<int32_t>();
  if (in.failed()) return damaged("FORK or EXIT");
  const uint64_t nano = in.u64();
  if (task.tsc == 0 && !in.failed()) task.tsc = nano;
  if (task.kind == SidebandKind::kExit) task.other_pid = task.other_tid = -1;
  return keep(std::move(task));
}

// Of a whole processor the record names the other thread, too: who comes, or who ran before.
Result<> PerfSideband::take_switch(const Record& record, ByteReader in, const SampleId& id) {
  const bool out = (record.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0;
  Sideband change = row(out ? SidebandKind::kSwitchOut : SidebandKind::kSwitchIn, id);
  if (out && (record.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0) change.flags = kFlagPreempted;
  if (record.type == PERF_RECORD_SWITCH_CPU_WIDE) {
    change.other_pid = in.fixed<int32_t>();
    change.other_tid = in.fixed<int32_t>();
  }
  if (id.tid == -1 || in.failed()) return damaged("SWITCH");
  return keep(std::move(change));
}

Result<> PerfSideband::take_trace_start(ByteReader in, const SampleId& id) {
  Sideband start = row(SidebandKind::kTraceStart, id);
  start.pid = in.fixed<int32_t>();
  start.tid = in.fixed<int32_t>();
  if (in.failed()) return damaged("ITRACE_START");
  return keep(std::move(start));
}

// In overwrite mode every one says that it overwrote: that is no loss of what was asked for.
Result<> PerfSideband::take_aux(ByteReader in, const SampleId& id) {
  Sideband loss = row(SidebandKind::kAuxLoss, id);
  loss.address = in.u64();
  loss.length = in.u64();
  const uint64_t flags = in.u64();
  if (in.failed()) return damaged("AUX");
  loss.flags = aux_flags(flags);
  if ((loss.flags & ~kFlagAuxOverwritten) == 0) return {};
  count("packets lost by the recording", 1);
  return keep(std::move(loss));
}

Result<> PerfSideband::take_lost(ByteReader in, const SampleId& id) {
  Sideband lost = row(SidebandKind::kLost, id);
  in.u64();  // the event
  lost.length = in.u64();
  if (in.failed()) return damaged("LOST");
  count("records about processes that the kernel lost", lost.length);
  return keep(std::move(lost));
}

Result<> PerfSideband::take_kernel_symbol(ByteReader in, const SampleId& id) {
  Sideband symbol = row(SidebandKind::kKernelSymbol, id);
  symbol.address = in.u64();
  symbol.length = in.u32();
  in.fixed<uint16_t>();  // BPF or out of line
  const bool gone = (in.fixed<uint16_t>() & kKernelSymbolGone) != 0;
  symbol.flags = kFlagKernel | (gone ? kFlagGone : 0U);
  if (in.failed()) return damaged("KSYMBOL");
  symbol.text = name_in(in);
  return keep(std::move(symbol));
}

Result<> PerfSideband::take_text_poke(ByteReader in, const SampleId& id) {
  Sideband poke = row(SidebandKind::kTextPoke, id);
  poke.flags = kFlagKernel;
  poke.address = in.u64();
  const uint16_t old_bytes = in.fixed<uint16_t>();
  const uint16_t new_bytes = in.fixed<uint16_t>();
  poke.other_text = in.raw(old_bytes);
  poke.text = in.raw(new_bytes);
  poke.length = new_bytes;
  if (in.failed()) return damaged("TEXT_POKE");
  return keep(std::move(poke));
}

uint64_t tsc_of(uint64_t nano, const Timing& timing) {
  const uint64_t since = nano - timing.conversion_zero_nano;
  const auto wide = static_cast<unsigned __int128>(since) << timing.conversion_shift;
  return static_cast<uint64_t>(wide / timing.conversion_mult);
}

// False: without a relation of the clocks only what holds from the beginning can be used.
bool PerfSideband::to_tsc(const Timing& timing) {
  if (timing.conversion_mult == 0) {
    const size_t all = rows_.size();
    for (Sideband& row : rows_) row.tsc = 0;
    std::erase_if(rows_, [](const Sideband& row) {
      return row.kind == SidebandKind::kSwitchIn || row.kind == SidebandKind::kSwitchOut;
    });
    count("switches of threads without a clock that packets have, too", all - rows_.size());
    return false;
  }
  for (Sideband& row : rows_) row.tsc = row.tsc == 0 ? 0 : tsc_of(row.tsc, timing);
  return true;
}

void PerfSideband::finish(Snapshot& snapshot) {
  to_tsc(snapshot.timing);
  for (Image& image : images_) {
    auto known = build_ids_.find(image.name);
    if (image.build_id.empty() && known != build_ids_.end()) image.build_id = known->second;
  }
  snapshot.sideband = std::move(rows_);
  snapshot.images = std::move(images_);
  for (const auto& [name, number] : losses_) snapshot.losses.push_back({name, number});
}

}  // namespace fathom::snapshot::perf
