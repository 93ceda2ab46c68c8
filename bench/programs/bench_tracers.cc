// bench-tracers: the survey's experiment again, with ours among the tracers. See bench/README.md.
#include <boost/json.hpp>
#include <cstdio>
#include <filesystem>
#include <string>

#include "bench/machine.h"
#include "bench/options.h"
#include "bench/progress.h"
#include "bench/report.h"
#include "bench/server.h"
#include "bench/tracers/capture_rounds.h"
#include "bench/tracers/event_rounds.h"
#include "bench/tracers/figures.h"
#include "bench/tracers/lttng_session.h"
#include "bench/tracers/plot.h"
#include "bench/tracers/subprocess.h"
#include "bench/tracers/syscall_rounds.h"

namespace fathom::bench {
namespace {

using tracers::CaptureRounds;
using tracers::Command;
using tracers::EventRounds;
using tracers::LttngSession;
using tracers::SyscallRounds;

Options make_options() {
  return {"bench-tracers",
          {{"--steps", "all",
            "of events,instructions,syscalls,captures,crash, separated by commas; instructions needs events"},
           {"--rounds", "60", "of step events"},
           {"--syscall-rounds", "7", "of step syscalls"},
           {"--captures", "200", "of each kind, of step captures"},
           {"--kills", "200", "programs of step crash"},
           {"--seed", "1", "of the moments of kills"},
           {"--server", beside_this_program("fathom-server"), "the server of step captures"},
           {"--work-directory", "/tmp", "for logs and data directories"},
           {"--plot", "", "a file for the plot (SVG)"},
           {"--json", "", "a file for the figures"}}};
}

// LTTng's usual buffers hold 52,420 events of the survey's kind: nine of them.
constexpr uint32_t kCallsOfUsualBuffers = 480'000;

// No agent of this machine is to read along.
Command rows_of_ours(const std::string& program, const std::string& log_path) {
  return {{beside_this_program(program)}, {{"FATHOM_AGENT_SOCKET", ""}}, log_path};
}

class TracersBench {
 public:
  TracersBench(const Options& options, Report& report)
      : options_(options), report_(report), log_path_(options.text("--work-directory") + "/bench-tracers.log") {}

  Result<> run() {
    for (auto step : {&TracersBench::events, &TracersBench::syscalls, &TracersBench::captures, &TracersBench::crash,
                      &TracersBench::plot}) {
      if (Result<> fine = (this->*step)(); !fine) return fine;
    }
    return {};
  }

 private:
  bool selected(std::string_view step) const { return options_.selects("--steps", step); }

  Result<> events() {
    if (!selected("events")) return {};
    EventRounds rounds;
    // Before its programs, and away after them: they wait for it.
    std::unique_ptr<LttngSession> session;
    if (Result<> added = add_rows(rounds, session); !added) return added;
    if (Result<> filled = rounds.fill(); !filled) return filled;
    const uint64_t count = options_.number("--rounds");
    Progress progress("events, rounds", count);
    for (uint64_t round = 0; round < count; ++round) {
      if (Result<> done = rounds.run_round(); !done) return done;
      progress.at(round + 1);
    }
    count_instructions(rounds);
    std::fputs(("\n" + tracers::event_table(rounds.times())).c_str(), stdout);
    tracers::add_event_figures(rounds.times(), report_);
    panels_.push_back(tracers::event_panel(rounds.times()));
    return {};
  }

  Result<> add_rows(EventRounds& rounds, std::unique_ptr<LttngSession>& session) {
    Result<> ours = rounds.add_program(rows_of_ours("tracer-rows", log_path_), {{"none"},
                                                                                {"tracepoint_disabled"},
                                                                                {"clock"},
                                                                                {"floor"},
                                                                                {"tracepoint"},
                                                                                {"tracepoint_no_clock"},
                                                                                {"lw_ust"},
                                                                                {"span"},
                                                                                {"printf"}});
    if (!ours) return ours;
    const std::string rival = beside_this_program("rival-lttng");
    if (!std::filesystem::exists(rival)) {
      report_.note("LTTng's rows are left out: liblttng-ust-dev was not there when this was built");
      return {};
    }
    auto started = LttngSession::start(log_path_);
    if (!started) {
      report_.note("LTTng's rows are left out: " + started.error().message);
      return {};
    }
    session = std::move(*started);
    return rounds.add_program({{rival}, LttngSession::environment(), log_path_},
                              {{"lttng_ust", kCallsOfUsualBuffers}, {"lttng_ust_small"}, {"tracef"}});
  }

  void count_instructions(EventRounds& rounds) {
    if (!selected("instructions")) return;
    if (Result<> counted = rounds.count_instructions(); !counted)
      report_.note("instructions are left out: " + counted.error().message);
  }

  Result<> syscalls() {
    if (!selected("syscalls")) return {};
    SyscallRounds rounds(rows_of_ours("tracer-rows", log_path_), options_.text("--work-directory"));
    if (Result<> ready = rounds.set_up(); !ready) return ready;
    const uint64_t count = options_.number("--syscall-rounds");
    Progress progress("system calls, rounds", count);
    for (uint64_t round = 0; round < count; ++round) {
      if (Result<> done = rounds.run_round(); !done) return done;
      progress.at(round + 1);
    }
    std::fputs(("\n" + tracers::syscall_table(rounds.times(), rounds.missing())).c_str(), stdout);
    tracers::add_syscall_figures(rounds.times(), report_);
    panels_.push_back(tracers::syscall_panel(rounds.times()));
    return {};
  }

  Result<> captures() {
    if (!selected("captures")) return {};
    auto rounds = CaptureRounds::start({options_.text("--server"), options_.text("--work-directory")});
    if (!rounds) return rounds.error();
    const uint64_t count = options_.number("--captures");
    Latencies durable, seen;
    Progress progress("captures", 2 * count);
    for (uint64_t number = 0; number < count; ++number) {
      auto nano = rounds->burst_to_durable_nano();
      if (!nano) return nano.error();
      durable.record(*nano);
      progress.at(2 * number + 1);
      nano = rounds->overdue_to_copied_nano(number);
      if (!nano) return nano.error();
      seen.record(*nano);
      progress.at(2 * number + 2);
    }
    add_latencies("capture.to_durable_ms", durable, "8 MiB of events, from the trigger");
    add_latencies("capture.overdue_seen_ms", seen, "from the threshold until the detail was copied, while it runs");
    return {};
  }

  void add_latencies(const std::string& key, const Latencies& latencies, const std::string& what) {
    report_.add(key + "_p99", latencies.p99_ms(), what);
    report_.add(key + "_p50", latencies.p50_ms(), "");
    report_.add(key + "_max", latencies.max_ms(), "");
  }

  Result<> crash() {
    if (!selected("crash")) return {};
    const Command command = {{beside_this_program("event_crashes"), beside_this_program("event_writer"), "--kills",
                              options_.text("--kills"), "--seed", options_.text("--seed")}};
    auto ended = tracers::run_to_end(command, 1200);
    if (!ended) return ended.error();
    const size_t begin = ended->output.find('{');
    boost::system::error_code fault;
    const boost::json::value said =
        boost::json::parse(begin == std::string::npos ? "" : ended->output.substr(begin), fault);
    if (fault) return internal("event_crashes said: " + ended->output);
    report_.add("crash.events_lost", said.at("crash.events_lost").to_number<double>(),
                "of " + std::to_string(said.at("committed").to_number<uint64_t>()) + " events of " +
                    options_.text("--kills") + " writers, killed at full speed");
    return {};
  }

  Result<> plot() {
    const std::string path = options_.text("--plot");
    if (path.empty() || panels_.empty()) return {};
    return tracers::write_plot(path, panels_, describe_machine("/").line());
  }

  const Options& options_;
  Report& report_;
  const std::string log_path_;
  std::vector<tracers::Panel> panels_;
};

int run(int argc, char** argv) {
  Options options = make_options();
  if (const auto status = options.parse_or_exit(argc, argv)) return *status;
  Report report("tracers", describe_machine(options.text("--work-directory")).line(), options.command());
  const Result<> done = TracersBench(options, report).run();
  return report.finish(done, options.text("--json"));
}

}  // namespace
}  // namespace fathom::bench

int main(int argc, char** argv) {
  return fathom::bench::run(argc, argv);
}
