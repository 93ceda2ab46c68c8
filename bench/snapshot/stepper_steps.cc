#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <filesystem>
#include <sstream>

#include "bench/server.h"
#include "bench/snapshot/bare_stepper.h"
#include "bench/snapshot/program_steps.h"
#include "bench/tracers/subprocess.h"

namespace fathom::bench {
namespace {

using tracers::run_to_end;

// Some hundred thousand instructions, from the dynamic linker's first.
const std::vector<std::string> kSteppedCommand = {"/bin/true"};

Result<boost::json::object> json_of(const tracers::Command& command) {
  auto ended = run_to_end(command, 600);
  if (!ended) return ended.error();
  const size_t begin = ended->output.find('{');
  boost::system::error_code fault;
  auto value = boost::json::parse(begin == std::string::npos ? "" : ended->output.substr(begin), fault);
  if (fault || !value.is_object()) return internal(command.words[0] + " failed: " + ended->output);
  return value.as_object();
}

uint64_t number(const boost::json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  return value == nullptr ? 0 : value->to_number<uint64_t>();
}

Result<std::vector<std::string>> subjects() {
  auto ended = run_to_end({{beside_this_program("step_subject"), "list"}, {}});
  if (!ended) return ended.error();
  std::istringstream lines(ended->output);
  std::vector<std::string> names;
  for (std::string name; std::getline(lines, name);) names.push_back(name);
  if (names.empty()) return internal("step_subject knows no subjects");
  return names;
}

// Not all machines have all subjects (AVX-512): the subject says so by its status.
Result<bool> possible(const std::string& subject) {
  constexpr int kNotHere = 77;
  auto ended = run_to_end({{beside_this_program("step_subject"), subject}, {}});
  if (!ended) return ended.error();
  return ended->status != kNotHere;
}

Result<> check_subject(const std::string& subject, const std::string& directory, StepperSpeed& speed) {
  auto here = possible(subject);
  if (!here) return here.error();
  if (!*here) return {};
  auto checked = json_of({{beside_this_program("stepper_check"), directory + "/" + subject, "run_subject",
                           beside_this_program("step_subject"), subject},
                          {}});
  if (!checked) return checked.error();
  speed.instructions += number(*checked, "instructions");
  speed.mismatches += number(*checked, "mismatches") + number(*checked, "errors");
  return {};
}

struct Timed {
  double bare_steps_per_s;
  double over_bare;
};

Result<Timed> time_once(const std::string& directory) {
  auto bare = step_barely(kSteppedCommand);
  if (!bare) return bare.error();
  std::vector<std::string> words = {beside_this_program("fathom-recorder"),
                                    "--directory",
                                    directory + "/timed",
                                    "--engine",
                                    "step",
                                    "--steps",
                                    "100000000",
                                    "--from",
                                    "start",
                                    "--"};
  words.insert(words.end(), kSteppedCommand.begin(), kSteppedCommand.end());
  const auto begin = std::chrono::steady_clock::now();
  auto ended = run_to_end({words, {}}, 600);
  if (!ended) return ended.error();
  if (!ended->fine()) return internal("fathom-recorder failed: " + ended->output);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return Timed{static_cast<double>(bare->steps) / bare->seconds, bare->seconds / seconds};
}

}  // namespace

Result<StepperSpeed> measure_stepper(const std::string& directory, int rounds) {
  StepperSpeed speed;
  auto names = subjects();
  if (!names) return names.error();
  for (const std::string& subject : *names) {
    if (auto checked = check_subject(subject, directory, speed); !checked) return checked.error();
  }
  std::vector<double> bare, over;
  for (int round = 0; round < rounds; ++round) {
    auto timed = time_once(directory);
    if (!timed) return timed.error();
    bare.push_back(timed->bare_steps_per_s);
    over.push_back(timed->over_bare);
  }
  std::ranges::sort(bare);
  std::ranges::sort(over);
  speed.over_bare_loop = over[over.size() / 2];
  speed.bare_steps_per_s = bare[bare.size() / 2];
  return speed;
}

Result<TriggerSpeed> measure_trigger(uint64_t count) {
  auto measured = json_of({{beside_this_program("trigger_latency"), std::to_string(count)}, {}});
  if (!measured) return measured.error();
  TriggerSpeed speed;
  speed.real_pt = measured->contains("real_pt") && measured->at("real_pt") == true;
  speed.p50_us = measured->at("all_us_p50").to_number<double>();
  speed.p99_us = measured->at("all_us_p99").to_number<double>();
  return speed;
}

}  // namespace fathom::bench
