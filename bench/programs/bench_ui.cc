// bench-ui: how soon the page shows what is asked for, in a browser, before a server with ten million spans. See
// bench/README.md.
#include <cstdio>
#include <filesystem>

#include "base/time.h"
#include "bench/machine.h"
#include "bench/options.h"
#include "bench/report.h"
#include "bench/ui/browser_steps.h"
#include "bench/ui/busy_data.h"
#include "bench/ui/large_snapshot.h"

namespace fathom::bench {
namespace {

constexpr int kScriptSeconds = 900;
constexpr uint64_t kSnapshotInstructions = 10'000'000;

Options make_options() {
  return {"bench-ui",
          {{"--steps", "all", "of first,select,trace,frames,snapshot,deploy, separated by commas"},
           {"--spans", "10000000", "of busy-v1 in the server"},
           {"--minutes", "120", "of their event time"},
           {"--large-trace", "10000", "spans of the trace that is opened and moved"},
           {"--rounds", "9", "of each measurement; the median counts"},
           {"--selections", "120", "in the heatmap, for select"},
           {"--cache", default_cache_directory(), "where the data directory is kept from run to run (about 1 GB)"},
           {"--ui", FATHOM_UI_SOURCES, "the page's sources, with npm's packages"},
           {"--page", "", "a built page; else the one beside the server"},
           {"--chromium", "/usr/bin/chromium", "the browser"},
           {"--server", beside_this_program("fathom-server"), "the program under test"},
           {"--work-directory", "/tmp", "where logs are, and what is made and removed"},
           {"--json", "", "a file for the figures"}}};
}

class UiBench {
 public:
  UiBench(const Options& options, Report& report) : options_(options), report_(report) {}

  Result<> run() {
    if (needs_browser()) {
      if (Result<> done = in_browser(); !done) return done;
    }
    return deploy();
  }

 private:
  bool selected(std::string_view step) const { return options_.selects("--steps", step); }
  bool needs_browser() const {
    return selected("first") || selected("select") || selected("trace") || selected("frames") || selected("snapshot");
  }
  BrowserPlaces places() const { return {options_.text("--ui"), options_.text("--chromium")}; }
  std::string script(const std::string& name) const { return options_.text("--ui") + "/e2e/" + name; }

  Result<> in_browser() {
    if (const std::string missing = missing_for_browser(places()); !missing.empty()) return unavailable(missing);
    Result<BusyServer> busy = start_busy_server(busy_options());
    if (!busy) return busy.error();
    busy_ = *std::move(busy);
    report_.add("ui.stored_spans", options_.real("--spans"),
                busy_.made ? "busy-v1, made for this run and kept" : "busy-v1, kept from a run before");
    if (!busy_.server->process().wait_until_idle(0.05, 120)) report_.note("The server was not idle at first.");
    for (auto step : {&UiBench::first, &UiBench::select, &UiBench::trace, &UiBench::frames, &UiBench::snapshot}) {
      if (Result<> fine = (this->*step)(); !fine) return fine;
    }
    return {};
  }

  BusyOptions busy_options() const {
    BusyOptions busy{{options_.text("--server"), options_.text("--work-directory")},
                     options_.text("--cache"),
                     options_.number("--spans"),
                     options_.number("--minutes") * kNanosPerMinute,
                     {"node", script("make_trace.mjs"), "{}", options_.text("--large-trace")}};
    if (!options_.text("--page").empty()) busy.server.arguments = {"--page", options_.text("--page")};
    return busy;
  }

  Result<> measure(const std::string& step, const std::string& subject, const std::string& times) {
    std::fprintf(stderr, "ui: measuring %s\n", step.c_str());
    const std::vector<std::string> command = {"node",
                                              script("speed.mjs"),
                                              "http://" + busy_.server->http(),
                                              step,
                                              subject,
                                              times,
                                              std::to_string(busy_.facts.from_unix_nano),
                                              std::to_string(busy_.facts.to_unix_nano)};
    return add_measured(report_, command, places(), kScriptSeconds);
  }

  Result<> first() { return selected("first") ? measure("first", "-", options_.text("--rounds")) : Result<>(); }
  Result<> select() { return selected("select") ? measure("select", "-", options_.text("--selections")) : Result<>(); }
  Result<> trace() {
    return selected("trace") ? measure("trace", busy_.facts.large_trace, options_.text("--rounds")) : Result<>();
  }
  Result<> frames() {
    return selected("frames") ? measure("frames", busy_.facts.large_trace, options_.text("--rounds")) : Result<>();
  }

  Result<> snapshot() {
    if (!selected("snapshot")) return {};
    Result<std::string> id = push_large_snapshot({beside_this_program("make-snapshot"), beside_this_program("fathom"),
                                                  busy_.server->http(), kSnapshotInstructions},
                                                 options_.text("--work-directory"));
    if (!id) return id.error();
    return measure("snapshot", *id, options_.text("--rounds"));
  }

  // Another program's measurement, from the package to the first trace; it needs no browser.
  Result<> deploy() {
    if (!selected("deploy")) return {};
    const std::string program = options_.text("--ui") + "/../tests/package_test.py";
    if (!std::filesystem::exists(program)) {
      report_.add_unmeasured("deploy.deb_to_first_trace_s", program + " is not there");
      return {};
    }
    std::fprintf(stderr, "ui: measuring deploy\n");
    return add_measured(report_, {"python3", program, "--measure"}, places(), kScriptSeconds);
  }

  const Options& options_;
  Report& report_;
  BusyServer busy_;
};

int run(int argc, char** argv) {
  Options options = make_options();
  if (const auto status = options.parse_or_exit(argc, argv)) return *status;
  Report report("ui", describe_machine(options.text("--cache")).line(), options.command());
  Result<> done = UiBench(options, report).run();
  return report.finish(done, options.text("--json"));
}

}  // namespace
}  // namespace fathom::bench

int main(int argc, char** argv) {
  return fathom::bench::run(argc, argv);
}
