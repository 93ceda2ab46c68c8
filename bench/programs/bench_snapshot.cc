// bench-snapshot: how fast control flow is stepped, decoded and asked. See bench/README.md.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "bench/machine.h"
#include "bench/options.h"
#include "bench/report.h"
#include "bench/snapshot/decode_steps.h"

namespace fathom::bench {
namespace {

Options make_options() {
  return {"bench-snapshot",
          {{"--steps", "all", "of decode, separated by commas"},
           {"--instructions", "40000000", "of the streams that are decoded"},
           {"--rounds", "7", "of each measurement; the median counts"},
           {"--work-directory", "/tmp", "where files are left while it runs"},
           {"--json", "", "a file for the figures"}}};
}

// Removed with everything in it.
class WorkDirectory {
 public:
  explicit WorkDirectory(const std::string& below)
      : path_(below + "/bench-snapshot." + std::to_string(::getpid())) {}
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
    for (auto step : {&SnapshotBench::decode}) {
      if (Result<> fine = (this->*step)(); !fine) return fine;
    }
    return {};
  }

 private:
  bool selected(std::string_view step) const { return options_.selects("--steps", step); }

  Result<> decode() {
    if (!selected("decode")) return {};
    auto loops = decode_one(make_loops(options_.number("--instructions")), "loop");
    if (!loops) return loops.error();
    auto calls = decode_one(make_calls(options_.number("--instructions")), "calls");
    if (!calls) return calls.error();
    report_.add("decode.two_cores_over_one", std::min(*loops, *calls), "the lesser of both");
    return {};
  }

  // Returns what two threads do over one.
  Result<double> decode_one(const MadeStream& stream, const std::string& name) {
    auto speed = measure_decode(stream, work_.path(), static_cast<int>(options_.number("--rounds")));
    if (!speed) return speed.error();
    const std::string key = "decode." + name;
    report_.add(key + "_insn_per_s", speed->calls_per_s, "one thread, times and tree of calls");
    report_.add(key + "_flow_insn_per_s", speed->flow_per_s, "one thread, counted only");
    report_.add(key + "_plain_insn_per_s", speed->plain_per_s, "libipt's block decoder in a plain loop");
    report_.add(key + "_over_plain", speed->calls_per_s / speed->plain_per_s, "ours with times and calls over that");
    report_.add(key + "_two_over_one", speed->two_over_one, "two threads over one");
    return speed->two_over_one;
  }

  const Options& options_;
  Report& report_;
  WorkDirectory work_;
};

int run(int argc, char** argv) {
  Options options = make_options();
  if (Result<> parsed = options.parse(argc, argv); !parsed) {
    std::fprintf(stderr, "bench-snapshot: %s\n", parsed.error().message.c_str());
    return 2;
  }
  Report report("snapshot", describe_machine(options.text("--work-directory")).line(), options.command());
  Result<> done = SnapshotBench(options, report).run();
  return report.finish(done, options.text("--json"));
}

}  // namespace
}  // namespace fathom::bench

int main(int argc, char** argv) {
  return fathom::bench::run(argc, argv);
}
