#include "bench/snapshot/pt_turns.h"

#include <algorithm>
#include <cstdlib>

#include "base/time.h"
#include "bench/server.h"
#include "bench/tracers/subprocess.h"
#include "snapshot/analyze/trace_time.h"
#include "snapshot/decode/packet_stream.h"
#include "snapshot/record/pt/pt_recorder.h"

namespace fathom::bench {
namespace {

using namespace fathom::snapshot;

constexpr double kNanos = 1e9;

class WorkloadProcess final : public PtWorkload {
 public:
  explicit WorkloadProcess(std::unique_ptr<tracers::Subprocess> process) : process_(std::move(process)) {}
  int32_t pid() const override { return process_->pid(); }
  Result<double> run(uint64_t turns) override {
    auto said = process_->ask(std::to_string(turns));
    if (!said) return said.error();
    return std::strtod(said->c_str(), nullptr) / kNanos;
  }

 private:
  std::unique_ptr<tracers::Subprocess> process_;
};

const Stream* largest(const Snapshot& snapshot) {
  const auto bytes = [](const Stream& stream) {
    uint64_t all = 0;
    for (const Stream::Piece& piece : stream.pieces) all += piece.bytes;
    return all;
  };
  const auto found = std::ranges::max_element(snapshot.streams, {}, bytes);
  return found == snapshot.streams.end() ? nullptr : &*found;
}

Result<double> bytes_per_second(const SnapshotFile& file) {
  const Snapshot& snapshot = file.snapshot();
  const Stream* stream = largest(snapshot);
  if (stream == nullptr) return 0.0;
  const auto index = static_cast<size_t>(stream - snapshot.streams.data());
  auto parts = cut_stream(PacketStream(file, index), index, 1);
  if (!parts) return parts.error();
  std::erase_if(*parts, [](const StreamPart& part) { return part.first_tsc == 0; });
  if (parts->size() < 2 || parts->back().first_tsc <= parts->front().first_tsc) return 0.0;
  const TraceTime time(snapshot.timing);
  const auto nano = static_cast<double>(time.duration(parts->back().first_tsc - parts->front().first_tsc));
  return nano == 0 ? 0.0 : static_cast<double>(parts->back().begin - parts->front().begin) / nano * kNanos;
}

}  // namespace

Result<std::unique_ptr<PtWorkload>> start_workload(const std::string& name) {
  auto process = tracers::Subprocess::start({{beside_this_program("pt_workload"), name}, {}});
  if (!process) return process.error();
  auto ready = (*process)->read_line();
  if (!ready) return ready.error();
  return std::unique_ptr<PtWorkload>(std::make_unique<WorkloadProcess>(*std::move(process)));
}

Result<uint64_t> turns_of(PtWorkload& workload, double seconds) {
  uint64_t turns = 1;
  while (true) {
    auto took = workload.run(turns);
    if (!took) return took.error();
    if (*took * 2 >= seconds || turns > UINT32_MAX) {
      return std::max<uint64_t>(1, static_cast<uint64_t>(static_cast<double>(turns) * seconds / std::max(*took, 1e-9)));
    }
    turns *= 2;
  }
}

Result<PtTurn> run_recorded(PerfSystem& system, const SnapshotDirectory& directory, PtOptions options,
                            PtWorkload& workload, uint64_t turns) {
  options.pids = {workload.pid()};
  options.history_nano = kNanosPerHour;
  auto recorder = PtRecorder::arm(system, directory, options);
  if (!recorder) return recorder.error();
  auto seconds = workload.run(turns);
  if (!seconds) return seconds.error();
  auto taken = (*recorder)->take(
      {}, Trigger{.reason = "requested", .tsc = 0, .tid = workload.pid(), .trace_id = {}, .span_id = {}});
  if (!taken) return taken.error();
  auto file = directory.open_snapshot(taken->id);
  if (!file) return file.error();
  auto rate = bytes_per_second(*file);
  if (!rate) return rate.error();
  return PtTurn{*seconds, taken->cost.packet_bytes, *rate, taken->id};
}

}  // namespace fathom::bench
