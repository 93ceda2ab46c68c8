#include "snapshot/record/pt/trigger_latency.h"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "base/time.h"
#include "snapshot/record/pt/pt_recorder.h"
#include "snapshot/record/pt/stand_in_perf.h"
#include "snapshot/record/pt/trigger_bell.h"
#include "snapshot/record/pt/trigger_thread.h"

namespace fathom::snapshot {
namespace {

constexpr uint64_t kBetweenNano = 2'000'000;
constexpr int kPatienceMillis = 60'000;
constexpr int kDrainMillis = 100;

PtOptions small_rings() {
  PtOptions options;
  options.aux_bytes = 64 << 10;
  options.sideband_bytes = 64 << 10;
  options.aux_record_bytes = 4096;
  options.most_snapshot_bytes = 64 << 10;
  return options;
}

// Computes between its triggers, as a program does: the recorder must get the processor from it.
[[noreturn]] void be_the_program(TriggerBell& bell, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t until = now_monotonic_nano() + kBetweenNano;
    while (now_monotonic_nano() < until) {
    }
    bell.ring(BellReason::kProgram, {}, {});
  }
  ::_exit(0);
}

// Ticks into nanoseconds, by both clocks over the whole measurement.
class Ruler {
 public:
  explicit Ruler(PerfSystem& system) : system_(system), tsc_(system.tsc()), nano_(system.monotonic_nano()) {}
  uint64_t nano_of(uint64_t ticks) const {
    const auto all_nano = static_cast<double>(system_.monotonic_nano() - nano_);
    return static_cast<uint64_t>(static_cast<double>(ticks) * all_nano / static_cast<double>(system_.tsc() - tsc_));
  }

 private:
  PerfSystem& system_;
  uint64_t tsc_;
  uint64_t nano_;
};

Result<> answer_one(TriggerBell& bell, PtRecorder& recorder, PerfSystem& system, const Ruler& ruler,
                    TriggerLatency& latency) {
  pollfd event{bell.poll_descriptor(), POLLIN, 0};
  if (::poll(&event, 1, kPatienceMillis) != 1) return internal("the program that triggers fell silent");
  for (const TriggerRequest& request : bell.answer()) {
    recorder.stop(request.cpu);
    const uint64_t all = ruler.nano_of(system.tsc() - request.tsc);
    latency.all_nano.push_back(all);
    latency.first_nano.push_back(all - std::min(all, recorder.cost().stop_nano - recorder.cost().stop_first_nano));
    if (auto resumed = recorder.resume(); !resumed) return resumed;
  }
  return {};
}

Result<std::unique_ptr<PerfSystem>> system_to_measure(const std::string& scratch, bool& real_pt) {
  auto real = real_perf_system();
  real_pt = read_pt_pmu(*real).ok();
  if (real_pt) return real;
  if (::mkdir((scratch + "/pmu").c_str(), 0700) != 0) return system_error("cannot make a directory in " + scratch);
  return stand_in_perf_system(scratch + "/pmu");
}

// Reads the sideband beside the thread that waits for triggers, as the agent does.
class Drainer {
 public:
  explicit Drainer(PtRecorder& recorder) : thread_([this, &recorder] { run(recorder); }) {}
  Drainer(const Drainer&) = delete;
  ~Drainer() {
    ended_ = true;
    thread_.join();
  }

 private:
  void run(PtRecorder& recorder) {
    while (!ended_) {
      std::vector<pollfd> events = recorder.poll_events();
      ::poll(events.data(), events.size(), kDrainMillis);
      (void)recorder.drain();
    }
  }

  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(const Child&) = delete;
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

}  // namespace

Result<TriggerLatency> measure_trigger_latency(uint32_t count, const std::string& scratch) {
  TriggerLatency latency;
  auto system = system_to_measure(scratch, latency.real_pt);
  if (!system) return system.error();
  auto directory = SnapshotDirectory::open(scratch + "/snapshots");
  if (!directory) return directory.error();
  auto recorder = PtRecorder::arm(**system, *directory, small_rings());
  if (!recorder) return recorder.error();
  auto bell = TriggerBell::make();
  if (!bell) return bell.error();
  const pid_t pid = ::fork();
  if (pid < 0) return system_error("cannot start a program that triggers");
  if (pid == 0) be_the_program(*bell, count);
  const Child child(pid);
  const Drainer drainer(**recorder);
  interrupt_others();
  const Ruler ruler(**system);
  while (latency.all_nano.size() + bell->missed() < count) {
    if (auto answered = answer_one(*bell, **recorder, **system, ruler, latency); !answered) return answered.error();
  }
  return latency;
}

}  // namespace fathom::snapshot
