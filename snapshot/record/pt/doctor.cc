#include "snapshot/record/pt/doctor.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "snapshot/record/pt/known_decode.h"
#include "snapshot/record/pt/known_loop.h"
#include "snapshot/record/pt/system_files.h"

namespace fathom::snapshot {
namespace {

constexpr uint8_t kFirstModelWithPt = 0x3d;  // Broadwell

std::string processor_name(const PerfSystem& system) {
  const std::string text = read_small_file(system.path("/proc/cpuinfo"), 64 << 10).value_or("");
  for (const std::string_view line : split_lines(text)) {
    if (line.starts_with("model name")) return std::string(line.substr(std::min(line.find(": ") + 2, line.size())));
  }
  return "unknown";
}

// A word of the first "flags" line of /proc/cpuinfo.
bool has_cpu_flag(const PerfSystem& system, std::string_view flag) {
  const std::string text = read_small_file(system.path("/proc/cpuinfo"), 64 << 10).value_or("");
  for (const std::string_view line : split_lines(text)) {
    if (line.starts_with("flags"))
      return (std::string(line) + " ").find(" " + std::string(flag) + " ") != std::string::npos;
  }
  return false;
}

bool has_device(const PerfSystem& system) {
  return read_small_file(system.path("/sys/bus/event_source/devices/intel_pt/type")).has_value();
}

bool has_perf(const PerfSystem& system) {
  return read_small_file(system.path("/proc/sys/kernel/perf_event_paranoid")).has_value();
}

std::string no_flag(const PerfSystem& system, const Cpu& cpu, std::string& cure) {
  if (has_cpu_flag(system, "hypervisor")) {
    cure =
        "use a host without a hypervisor, or have it pass Intel PT to this guest (KVM: kvm_intel.pt_mode=1 and -cpu "
        "host,+intel-pt)";
    return "the hypervisor does not show Intel PT to this guest (" + processor_name(system) + ")";
  }
  if (cpu.family == 6 && cpu.model >= kFirstModelWithPt) {
    cure = "enable Intel Processor Trace in the firmware (BIOS) and give the kernel no clearcpuid= for it";
    return "this processor should have Intel PT, but does not show it: the firmware or the kernel's command line hides "
           "it (" +
           processor_name(system) + ")";
  }
  cure = "use a processor from Broadwell on, or step through one program: fathom record --engine step -- COMMAND";
  return "this processor has no Intel PT (" + processor_name(system) + ")";
}

PtReport fails(std::string says, std::string cure) {
  PtReport report;
  report.says = std::move(says);
  report.cure = std::move(cure);
  return report;
}

// An explanation of ours is "what; what helps".
PtReport fails_with(const Error& error) {
  const size_t split = error.message.find("; ");
  if (split == std::string::npos) return fails(error.message, "see the kernel's log (dmesg)");
  return fails(error.message.substr(0, split), error.message.substr(split + 2));
}

PtOptions options_for(int32_t pid) {
  PtOptions options;
  options.pids = {pid};
  options.aux_bytes = 1 << 20;
  options.sideband_bytes = 64 << 10;
  options.aux_record_bytes = 16 << 10;
  options.most_snapshot_bytes = 64 << 20;
  return options;
}

Result<TakenSnapshot> record(PerfSystem& system, KnownProgram& program, const SnapshotDirectory& directory) {
  auto pid = program.start();
  if (!pid) return pid.error();
  auto recorder = PtRecorder::arm(system, directory, options_for(*pid));
  if (!recorder) return recorder.error();
  if (auto ran = program.run(); !ran) return ran.error();
  return (*recorder)->take(
      {}, Trigger{.reason = "requested", .tsc = system.tsc(), .tid = -1, .trace_id = {}, .span_id = {}});
}

Result<std::vector<uint8_t>> packets_of(const SnapshotFile& file, const Stream& stream) {
  std::vector<uint8_t> packets;
  for (const Stream::Piece& piece : stream.pieces) {
    const size_t at = packets.size();
    packets.resize(at + piece.bytes);
    if (auto read = file.read(piece.file_offset, std::span(packets).subspan(at)); !read) return read.error();
  }
  return packets;
}

// The program may have moved from one CPU to another: the stretches are put together as they fit.
bool covers(const std::vector<std::vector<uint64_t>>& stretches, const std::vector<uint64_t>& path) {
  size_t matched = 0;
  std::vector<bool> used(stretches.size());
  for (size_t turn = 0; turn < stretches.size() && matched < path.size(); ++turn) {
    for (size_t i = 0; i < stretches.size(); ++i) {
      const auto& one = stretches[i];
      if (used[i] || one.empty() || one.size() > path.size() - matched) continue;
      if (!std::equal(one.begin(), one.end(), path.begin() + static_cast<ptrdiff_t>(matched))) continue;
      matched += one.size();
      used[i] = true;
    }
  }
  return matched == path.size();
}

struct Compared {
  uint64_t instructions = 0;
  uint64_t of_the_loop = 0;
  uint64_t bytes = 0;
  bool equal = false;
};

Result<Compared> compare(const SnapshotDirectory& directory, const SnapshotId& id) {
  auto file = directory.open_snapshot(id);
  if (!file) return file.error();
  Compared compared;
  std::vector<std::vector<uint64_t>> stretches;
  for (const Stream& stream : file->snapshot().streams) {
    auto packets = packets_of(*file, stream);
    if (!packets) return packets.error();
    KnownDecoded decoded = decode_known(*packets, file->snapshot(), known_code());
    compared.instructions += decoded.instructions;
    compared.of_the_loop += decoded.path.size();
    compared.bytes += packets->size();
    stretches.push_back(std::move(decoded.path));
  }
  compared.equal = covers(stretches, known_path(kKnownRounds));
  return compared;
}

PtReport judge(const Compared& compared) {
  const std::string expected = std::to_string(known_path(kKnownRounds).size());
  const std::string found = std::to_string(compared.of_the_loop);
  if (compared.bytes == 0)
    return fails("Intel PT can be switched on, but wrote no packets",
                 "see the kernel's log (dmesg) for 'pt:' and VMX: another hypervisor may hold it");
  if (!compared.equal)
    return fails("Intel PT records, but " + found + " instructions were decoded of a loop of " + expected,
                 "repeat it on an idle host; if it stays so, please report it with the processor's model");
  PtReport report;
  report.works = true;
  report.says = "snapshots by Intel PT work here: " + expected +
                " instructions of a known loop were recorded and decoded, all as they ran";
  return report;
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  out += '"';
}

}  // namespace

std::string report_json(const PtReport& report) {
  std::string out = report.works ? "{\"works\":true,\"says\":" : "{\"works\":false,\"says\":";
  append_quoted(out, report.says);
  out += ",\"cure\":";
  append_quoted(out, report.cure);
  return out + "}\n";
}

std::string why_no_pt(const PerfSystem& system, std::string& cure) {
  const Cpu cpu = read_cpu(system);
  if (!cpu.intel) {
    cure = "use a host with an Intel processor, or step through one program: fathom record --engine step -- COMMAND";
    return "this processor is not Intel's (" + processor_name(system) + ")";
  }
  if (!has_perf(system)) {
    cure = "use a kernel with CONFIG_PERF_EVENTS";
    return "this kernel has no perf_event_open";
  }
  if (has_device(system)) return {};
  if (!has_cpu_flag(system, "intel_pt")) return no_flag(system, cpu, cure);
  cure = "see `dmesg | grep -i 'pt:'`; mostly the firmware left it switched on: disable its trace settings and restart";
  return "the processor has Intel PT, but the kernel did not take it";
}

PtReport check_pt(PerfSystem& system, KnownProgram& program, const SnapshotDirectory& directory) {
  std::string cure;
  if (std::string why = why_no_pt(system, cure); !why.empty()) return fails(std::move(why), std::move(cure));
  auto taken = record(system, program, directory);
  if (!taken) return fails_with(taken.error());
  auto compared = compare(directory, taken->id);
  if (!compared) return fails_with(compared.error());
  PtReport report = judge(*compared);
  report.instructions = compared->instructions;
  report.cost = taken->cost;
  return report;
}

PtReport check_pt_of_this_host() {
  std::string scratch = std::filesystem::temp_directory_path() / "fathom_doctor_XXXXXX";
  if (::mkdtemp(scratch.data()) == nullptr) return fails_with(system_error("cannot make " + scratch));
  auto directory = SnapshotDirectory::open(scratch);
  const auto system = real_perf_system();
  const auto program = forked_known_program();
  PtReport report = directory ? check_pt(*system, *program, *directory) : fails_with(directory.error());
  std::error_code ignored;
  std::filesystem::remove_all(scratch, ignored);
  return report;
}

}  // namespace fathom::snapshot
