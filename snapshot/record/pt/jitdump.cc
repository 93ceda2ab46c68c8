#include "snapshot/record/pt/jitdump.h"

#include <elf.h>

#include "base/bytes.h"
#include "snapshot/record/pt/system_files.h"

namespace fathom::snapshot {
namespace {

constexpr uint32_t kJitdumpMagic = 0x4a695444;  // "JiTD" on a machine of our byte order
constexpr uint64_t kTimesAreTicks = 1;
constexpr uint32_t kJitdumpHeaderBytes = 40;
constexpr uint32_t kRecordHeaderBytes = 16;

enum RecordKind : uint32_t { kLoad = 0, kMove = 1, kDebugInfo = 2, kClose = 3, kUnwindingInfo = 4 };

bool wraps(uint64_t address, uint64_t bytes) {
  return bytes > UINT64_MAX - address;
}

// pid, tid, vma, address, size, index, name, code.
bool read_load(ByteReader& reader, JitCode& code) {
  reader.u64();
  reader.u64();
  code.address = reader.u64();
  code.bytes = reader.u64();
  code.index = reader.u64();
  const std::string_view rest = reader.raw(reader.remaining());
  const size_t end = rest.find('\0');
  if (reader.failed() || end == std::string_view::npos || rest.size() - end - 1 < code.bytes) return false;
  code.name = rest.substr(0, end);
  code.code = rest.substr(end + 1, code.bytes);
  return !wraps(code.address, code.bytes);
}

// pid, tid, vma, old address, new address, size, index.
bool read_move(ByteReader& reader, JitCode& code) {
  reader.u64();
  reader.u64();
  code.moved_from = reader.u64();
  code.address = reader.u64();
  code.bytes = reader.u64();
  code.index = reader.u64();
  return !reader.failed() && !wraps(code.address, code.bytes) && !wraps(code.moved_from, code.bytes);
}

// False where reading cannot go on.
bool read_record(ByteReader& reader, JitDump& dump) {
  const uint32_t kind = reader.u32();
  const uint32_t bytes = reader.u32();
  JitCode code;
  code.time = reader.u64();
  if (reader.failed() || bytes < kRecordHeaderBytes) return false;
  ByteReader body(reader.raw(bytes - kRecordHeaderBytes));
  if (reader.failed()) return false;
  // Unwinding and lines are for other readers.
  if (kind != kLoad && kind != kMove) return true;
  if (!(kind == kLoad ? read_load(body, code) : read_move(body, code))) return false;
  if (code.bytes > 0) dump.code.push_back(code);
  return true;
}

}  // namespace

bool is_jitdump_name(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with("jit-") || !name.ends_with(".dump")) return false;
  name.remove_prefix(4);
  return name.size() > 5 && parse_number(name.substr(0, name.size() - 5)).has_value();
}

Result<JitDump> parse_jitdump(std::string_view bytes) {
  ByteReader reader(bytes);
  if (reader.u32() != kJitdumpMagic) return corrupt("it is no jitdump (wrong magic)");
  reader.u32();  // version
  const uint32_t header_bytes = reader.u32();
  const uint32_t machine = reader.u32();
  reader.u32();
  JitDump dump;
  dump.pid = reader.fixed<int32_t>();
  reader.u64();  // when it was begun
  dump.times_are_ticks = (reader.u64() & kTimesAreTicks) != 0;
  if (reader.failed() || header_bytes < kJitdumpHeaderBytes) return corrupt("the jitdump ends within its header");
  if (machine != EM_X86_64) return corrupt("the jitdump is of another machine (" + std::to_string(machine) + ")");
  reader.raw(header_bytes - kJitdumpHeaderBytes);
  while (!reader.failed() && !reader.at_end()) {
    if (!read_record(reader, dump)) reader.fail();
  }
  dump.damaged = reader.failed();
  return dump;
}

}  // namespace fathom::snapshot
