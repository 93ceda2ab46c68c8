#include "bench/snapshot/program_steps.h"

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "bench/snapshot/written_stream.h"
#include "bench/tracers/subprocess.h"
#include "snapshot/decode/packets.h"
#include "snapshot/import/import.h"

namespace fathom::bench {
namespace {

using namespace fathom::snapshot;
using tracers::Ended;
using tracers::run_to_end;

// As perf counts the sample that google/perf_data_converter publishes (perf.data.intel_pt-4.14).
struct KnownCount {
  std::string_view kind;
  uint64_t count;
};
constexpr KnownCount kKnownCounts[] = {{"TNT", 69'516}, {"TIP", 12'039}, {"MTC", 2'802}, {"PIP", 441}, {"PSB", 10}};

Result<std::string> run_well(const tracers::Command& command) {
  Result<Ended> ended = run_to_end(command, 600);
  if (!ended) return ended.error();
  if (!ended->fine()) return internal(command.words[0] + " failed: " + ended->output);
  return std::move(ended->output);
}

// The line of JSON; what is said beside it to people may stand around it.
Result<std::string> id_in(const std::string& output) {
  const size_t begin = output.find("{\"snapshot_id\"");
  const std::string line = begin == std::string::npos ? "" : output.substr(begin, output.find('\n', begin) - begin);
  boost::system::error_code fault;
  const auto value = boost::json::parse(line, fault);
  if (fault || !value.is_object() || !value.as_object().contains("snapshot_id")) {
    return internal("import printed no id: " + output);
  }
  return std::string(value.at("snapshot_id").as_string());
}

Result<> write_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
  if (std::filesystem::file_size(path) != content.size()) return internal("cannot write " + path);
  return {};
}

std::vector<std::string> import_command(const std::string& fathom, const MadeStream& stream,
                                        const std::string& directory) {
  char base[32];
  std::snprintf(base, sizeof base, "@%lx", stream.base);
  return {fathom,
          "snapshot",
          "import",
          "--pt",
          directory + "/stream",
          "--cpu",
          "6/142/10",
          "--mtc-freq",
          std::to_string(stream.timing.mtc_freq),
          "--nom-freq",
          std::to_string(stream.timing.nom_freq),
          "--cpuid-0x15",
          std::to_string(stream.timing.cpuid_0x15_eax) + "/" + std::to_string(stream.timing.cpuid_0x15_ebx),
          "--image",
          directory + "/code" + base};
}

Result<double> import_once(const std::string& fathom, const MadeStream& stream, const std::string& directory) {
  const std::string kept = directory + "/kept";
  std::filesystem::remove_all(kept);
  const tracers::Environment environment = {{"FATHOM_SNAPSHOTS", kept}};
  const auto begin = std::chrono::steady_clock::now();
  auto imported = run_well({import_command(fathom, stream, directory), environment});
  if (!imported) return imported.error();
  auto id = id_in(*imported);
  if (!id) return id.error();
  auto calls = run_well({{fathom, "snapshot", "calls", *id}, environment});
  if (!calls) return calls.error();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Result<double> import_to_calls_ms(const std::string& fathom, const MadeStream& stream, const std::string& directory,
                                  int rounds) {
  if (auto written = write_file(directory + "/stream", stream.packets); !written) return written.error();
  if (auto written = write_file(directory + "/code", stream.code); !written) return written.error();
  std::vector<double> took;
  for (int round = 0; round < rounds; ++round) {
    auto once = import_once(fathom, stream, directory);
    if (!once) return once.error();
    took.push_back(*once);
  }
  std::sort(took.begin(), took.end());
  return took[took.size() / 2];
}

Result<double> worker_rss_max_mib(const std::string& worker, const MadeStream& stream, uint64_t bytes,
                                  const std::string& directory) {
  auto opened = SnapshotDirectory::open(directory + "/long");
  if (!opened) return opened.error();
  const int repeats = static_cast<int>(bytes / stream.packets.size()) + 1;
  auto written = write_stream(*opened, stream, repeats);
  if (!written) return written.error();
  auto ended = run_to_end({{worker, "--directory", directory + "/long", "calls", written->id.hex()}, {}}, 600);
  if (!ended) return ended.error();
  if (!ended->fine()) return internal(worker + " failed: " + ended->output);
  return ended->rss_max_mib;
}

Result<uint64_t> wrong_packets(const std::string& perf_data, const std::string& directory) {
  auto opened = SnapshotDirectory::open(directory + "/perf");
  if (!opened) return opened.error();
  PerfImport import;
  import.path = perf_data;
  auto id = import_perf_data(*opened, import);
  if (!id) return id.error();
  auto file = opened->open_snapshot(*id);
  if (!file) return file.error();
  auto counts = count_packets(*file);
  if (!counts) return counts.error();
  return static_cast<uint64_t>(std::ranges::count_if(kKnownCounts, [&](const KnownCount& known) {
    const auto found = counts->kinds.find(known.kind);
    return found == counts->kinds.end() || found->second.count != known.count;
  }));
}

}  // namespace fathom::bench
