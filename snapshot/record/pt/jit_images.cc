#include "snapshot/record/pt/jit_images.h"

#include <unordered_map>

#include "snapshot/format/perf_records.h"
#include "snapshot/record/pt/code_image.h"
#include "snapshot/record/pt/jitdump.h"

namespace fathom::snapshot {
namespace {

constexpr uint64_t kMostImageBytes = 256 << 20;

uint64_t tsc_of(const JitDump& dump, uint64_t time, const Timing& timing, const ClockPair& now) {
  if (dump.times_are_ticks) return time;
  // How far both clocks are apart is what their pair says; it drifts by parts in a million only.
  const uint64_t time_nano = time - now.monotonic_nano + time_of_tsc(timing, now.tsc);
  const uint64_t tsc = tsc_of_time(timing, time_nano);
  return tsc > now.tsc ? 0 : tsc;  // of the future, or of before the clock: of unknown age
}

Sideband range_row(SidebandKind kind, int32_t pid, uint64_t tsc, uint64_t address, uint64_t bytes) {
  Sideband row;
  row.kind = kind;
  row.pid = pid;
  row.tsc = tsc;
  row.address = address;
  row.length = bytes;
  return row;
}

}  // namespace

Result<JitImage> read_jit_image(const std::string& dump_bytes, int32_t pid, const Timing& timing,
                                const ClockPair& now) {
  auto dump = parse_jitdump(dump_bytes);
  if (!dump) return dump.error();
  CodeImageBuilder builder;
  JitImage image;
  image.damaged = dump->damaged;
  std::unordered_map<uint64_t, uint64_t> offsets;  // by the compiler's number
  for (const JitCode& code : dump->code) {
    if (builder.size() > kMostImageBytes) return exhausted("the jitdump has more than 256 MiB of code");
    const uint64_t tsc = tsc_of(*dump, code.time, timing, now);
    if (!code.code.empty()) {
      offsets[code.index] = builder.add_code(code.code);
      builder.add_symbol(code.name, offsets[code.index], code.bytes);
    }
    const auto offset = offsets.find(code.index);
    if (offset == offsets.end()) continue;  // moved from where nothing was
    if (code.moved_from != 0)
      image.rows.push_back(range_row(SidebandKind::kUnmap, pid, tsc, code.moved_from, code.bytes));
    image.rows.push_back(range_row(SidebandKind::kMap, pid, tsc, code.address, code.bytes));
    image.rows.back().file_offset = offset->second;
  }
  image.elf = builder.finish();
  return image;
}

}  // namespace fathom::snapshot
