// bench-snapshot: how fast control flow is stepped, decoded and asked. See bench/README.md.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/testing/shared_data.h"
#include "bench/machine.h"
#include "bench/options.h"
#include "bench/report.h"
#include "bench/server.h"
#include "bench/snapshot/decode_steps.h"
#include "bench/snapshot/program_steps.h"
#include "bench/snapshot/pt_steps.h"
#include "bench/snapshot/stepped_stream.h"
#include "snapshot/record/pt/doctor.h"

namespace fathom::bench {
namespace {

Options make_options() {
  return {"bench-snapshot",
          {{"--steps", "all", "of decode,import,memory,packets,stepper,trigger,pt, separated by commas"},
           {"--instructions", "40000000", "of the streams that are decoded"},
           {"--rounds", "7", "of each measurement; the median counts"},
           {"--perf-data", "", "for packets; else $FATHOM_PERF_DATA, or in $FATHOM_SHARED_DATA or ../shared/data"},
           {"--memory-mib", "256", "of packets, for memory"},
           {"--triggers", "1000", "for trigger"},
           {"--work-directory", "/tmp", "where files are left while it runs"},
           {"--json", "", "a file for the figures"}}};
}

// Removed with everything in it.
class WorkDirectory {
 public:
  explicit WorkDirectory(const std::string& below) : path_(below + "/bench-snapshot." + std::to_string(::getpid())) {}
  ~WorkDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class SnapshotBench {
 public:
  SnapshotBench(const Options& options, Report& report)
      : options_(options), report_(report), work_(options.text("--work-directory")) {}

  Result<> run() {
    std::filesystem::create_directories(work_.path());
    for (auto step : {&SnapshotBench::decode, &SnapshotBench::import, &SnapshotBench::memory, &SnapshotBench::packets,
                      &SnapshotBench::stepper, &SnapshotBench::trigger, &SnapshotBench::pt}) {
      if (Result<> fine = (this->*step)(); !fine) return fine;
    }
    return {};
  }

 private:
  int rounds() const { return static_cast<int>(options_.number("--rounds")); }
  bool selected(std::string_view step) const { return options_.selects("--steps", step); }

  Result<> decode() {
    if (!selected("decode")) return {};
    auto loops = decode_made(make_loops(options_.number("--instructions")), "loop");
    if (!loops) return loops.error();
    auto calls = decode_made(make_calls(options_.number("--instructions")), "calls");
    if (!calls) return calls.error();
    report_.add("decode.two_cores_over_one", std::min(*loops, *calls), "the lesser of both");
    return decode_stepped();
  }

  // Returns what two threads do over one.
  Result<double> decode_made(const MadeStream& stream, const std::string& name) {
    auto speed = measure_made_stream(stream, work_.path(), rounds());
    if (!speed) return speed.error();
    add_decode("decode." + name, *speed);
    return speed->two_over_one;
  }

  Result<> decode_stepped() {
    auto speed = measure_stepped_stream(beside_this_program("fathom-recorder"), work_.path() + "/stepped",
                                        options_.number("--instructions"), rounds());
    if (!speed) return speed.error();
    add_decode("decode.stepped", speed->decode);
    report_.note("decode.stepped: " + std::to_string(speed->stepped) + " instructions of /bin/sh, their packets " +
                 std::to_string(speed->repeats) + " times");
    return {};
  }

  void add_decode(const std::string& key, const DecodeSpeed& speed) {
    report_.add(key + "_insn_per_s", speed.calls_per_s, "one thread, times and tree of calls");
    report_.add(key + "_flow_insn_per_s", speed.flow_per_s, "one thread, counted only");
    report_.add(key + "_plain_insn_per_s", speed.plain_per_s, "libipt's block decoder in a plain loop");
    report_.add(key + "_over_plain", speed.calls_per_s / speed.plain_per_s, "ours with times and calls over that");
    report_.add(key + "_two_over_one", speed.two_over_one, "two threads over one");
    report_.add(key + "_plain_two_over_one", speed.plain_two_over_one, "two plain loops side by side: the floor");
  }

  Result<> import() {
    if (!selected("import")) return {};
    const MadeStream stream = make_calls(10'000'000);
    auto took = import_to_calls_ms(beside_this_program("fathom"), stream, work_.path(), rounds());
    if (!took) return took.error();
    report_.note("import: " + std::to_string(stream.packets.size()) + " bytes of packets, 10 M instructions");
    report_.add("import.to_calls_ms", *took, "fathom snapshot import, then calls, of 10 M instructions");
    return {};
  }

  Result<> memory() {
    if (!selected("memory")) return {};
    const MadeStream stream = make_calls(20'000'000);
    auto most = worker_rss_max_mib(beside_this_program("fathom-worker"), stream, options_.number("--memory-mib") << 20,
                                   work_.path());
    if (!most) return most.error();
    report_.add("decode.rss_max_mib", *most,
                "of fathom-worker, for the calls of " + options_.text("--memory-mib") + " MiB of packets");
    return {};
  }

  Result<> packets() {
    if (!selected("packets")) return {};
    const auto perf_data = find_perf_data(data_places(options_.text("--perf-data")));
    if (!perf_data) {
      report_.add_unmeasured("packets.wrong", perf_data.error().message);
      return {};
    }
    auto wrong = wrong_packets(*perf_data, work_.path());
    if (!wrong) return wrong.error();
    report_.add("packets.wrong", static_cast<double>(*wrong), "kinds whose count is not that of perf script -D");
    return {};
  }

  Result<> stepper() {
    if (!selected("stepper")) return {};
    auto stepped = measure_stepper(work_.path(), rounds());
    if (!stepped) return stepped.error();
    report_.add("stepper.mismatches", static_cast<double>(stepped->mismatches),
                "addresses, of " + std::to_string(stepped->instructions) + " stepped in all subjects");
    report_.add("stepper.bare_steps_per_s", stepped->bare_steps_per_s, "a loop that steps and does nothing else");
    report_.add("stepper.over_bare_loop", stepped->over_bare_loop, "recording over that, from start to snapshot");
    return {};
  }

  Result<> trigger() {
    if (!selected("trigger")) return {};
    auto latency = measure_trigger(options_.number("--triggers"));
    if (!latency) return latency.error();
    if (!latency->real_pt) report_.note("no Intel PT here: a software event stands in for it in trigger.*");
    report_.add("trigger.to_stopped_us_p50", latency->p50_us,
                "from a trigger in a program until all rings stand still");
    report_.add("trigger.to_stopped_us_p99", latency->p99_us, "the same");
    return {};
  }

  Result<> pt() {
    if (!selected("pt")) return {};
    const auto system = snapshot::real_perf_system();
    auto directory = snapshot::SnapshotDirectory::open(work_.path() + "/pt");
    if (!directory) return directory.error();
    std::string cure;
    const std::string why_not = snapshot::why_no_pt(*system, cure);
    return add_paper(report_, {*system, *directory}, why_not, start_workload, rounds());
  }

  const Options& options_;
  Report& report_;
  WorkDirectory work_;
};

int run(int argc, char** argv) {
  Options options = make_options();
  if (const auto status = options.parse_or_exit(argc, argv)) return *status;
  Report report("snapshot", describe_machine(options.text("--work-directory")).line(), options.command());
  Result<> done = SnapshotBench(options, report).run();
  return report.finish(done, options.text("--json"));
}

}  // namespace
}  // namespace fathom::bench

int main(int argc, char** argv) {
  return fathom::bench::run(argc, argv);
}
