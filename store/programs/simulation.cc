// store_simulation: runs simulations of the store from seeds (docs/simulation.md), or replays a saved failure.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "base/log.h"
#include "store/testing/simulation.h"

namespace {

using namespace fathom;
using namespace fathom::store;
using namespace fathom::store::testing;

constexpr char kUsage[] =
    "usage: store_simulation [--first SEED] [--seeds N] [--seconds N|test] [--steps N] [--durability fsync|os]\n"
    "                        [--damages yes|no] [--save DIR] [--keep-going yes|no]\n"
    "       store_simulation --replay DIR\n"
    "Runs seeds until one fails, N are run or the time is over. Prints one line of JSON. The exit status is 1 if one\n"
    "failed. --replay continues a saved run with its last start.\n";

using Arguments = std::map<std::string, std::string>;

Arguments parse(int argc, char** argv) {
  Arguments arguments = {{"--first", "1"},  {"--seeds", "100"},     {"--seconds", "0"},
                         {"--steps", "60"}, {"--damages", "yes"},   {"--durability", "fsync"},
                         {"--save", ""},    {"--keep-going", "no"}, {"--replay", ""}};
  for (int i = 1; i + 1 < argc; i += 2) {
    if (arguments.count(argv[i]) == 0) break;
    arguments[argv[i]] = argv[i + 1];
    if (i + 2 == argc || i + 1 == argc - 1) return arguments;
  }
  if (argc == 1) return arguments;
  std::fputs(kUsage, stderr);
  std::exit(2);
}

char running_seed[512];  // for the handler, which must not allocate

// An assertion in the store or in RocksDB ends the process. Its message does not tell the seed.
void report_crash(int signal) {
  const ssize_t ignored = write(STDERR_FILENO, running_seed, strlen(running_seed));
  (void)ignored;
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void announce(uint64_t seed, const std::string& last_start, bool is_saved) {
  const std::string hint = is_saved ? "; run --replay " + last_start : "; with --save, it can be replayed";
  snprintf(running_seed, sizeof(running_seed), "the process crashed in seed %llu%s\n",
           static_cast<unsigned long long>(seed), hint.c_str());
}

uint64_t number(const std::string& text) {
  return std::strtoull(text.c_str(), nullptr, 10);
}

int replay(const std::string& directory) {
  const Result<SimulationResult> result = Simulation::replay(directory);
  if (!result) return std::fprintf(stderr, "%s\n", result.error().message.c_str()), 2;
  std::printf("%s\n", result->fault.empty() ? "no fault" : result->fault.c_str());
  return result->fault.empty() ? 0 : 1;
}

void print_summary(const SimulationResult& sum, uint64_t seeds, uint64_t failed, double seconds) {
  const std::pair<const char*, uint64_t> values[] = {{"seeds", seeds},
                                                     {"failed_seeds", failed},
                                                     {"silent_losses", sum.silent_losses},
                                                     {"doubled", sum.doubled},
                                                     {"acknowledged_batches", sum.acknowledged},
                                                     {"acknowledged_captures", sum.acknowledged_captures},
                                                     {"restarts", sum.restarts},
                                                     {"checks", sum.checks},
                                                     {"damaged_disks", sum.damaged},
                                                     {"reported", sum.reported},
                                                     {"reported_losses", sum.lost},
                                                     {"undetectable_batches", sum.undetectable}};
  std::printf("{");
  for (const auto& [name, value] : values) std::printf("\"%s\": %llu, ", name, static_cast<unsigned long long>(value));
  std::printf("\"seconds\": %.1f}\n", seconds);
}

// "test": a minute less the time to start and end, or an hour in the full test.
double seconds_to_run(const std::string& text) {
  if (text != "test") return std::strtod(text.c_str(), nullptr);
  const char* wanted = std::getenv("FATHOM_SIMULATION_SECONDS");
  if (wanted != nullptr) return std::strtod(wanted, nullptr);
  return std::getenv("FATHOM_TEST_FULL") != nullptr ? 3600 : 50;
}

int simulate(const Arguments& arguments) {
  SimulationOptions options;
  options.steps = number(arguments.at("--steps"));
  options.damages = arguments.at("--damages") == "yes";
  options.durability = arguments.at("--durability") == "os" ? Durability::kOs : Durability::kFsync;
  options.save = arguments.at("--save");
  const uint64_t first = number(arguments.at("--first")), seeds = number(arguments.at("--seeds"));
  for (int signal : {SIGABRT, SIGSEGV, SIGBUS}) std::signal(signal, report_crash);
  const double longest = seconds_to_run(arguments.at("--seconds"));
  const auto began = std::chrono::steady_clock::now();
  auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(); };
  SimulationResult sum;
  uint64_t run = 0, failed = 0;
  while (run < seeds && (longest <= 0 || seconds() < longest)) {
    Simulation simulation(first + run++, options);
    announce(first + run - 1, simulation.last_start(), !options.save.empty());
    const SimulationResult result = simulation.run();
    sum += result;
    if (result.fault.empty()) continue;
    ++failed;
    std::fprintf(stderr, "%s\n", result.fault.c_str());
    if (arguments.at("--keep-going") != "yes") break;
  }
  print_summary(sum, run, failed, seconds());
  return failed > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  set_log_level(std::getenv("FATHOM_LOG") != nullptr ? LogLevel::kWarning : LogLevel{4});
  if (const std::string& directory = arguments.at("--replay"); !directory.empty()) return replay(directory);
  return simulate(arguments);
}
