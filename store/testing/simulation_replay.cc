// The start of a simulation as files: the data directory and the state before it. A replay continues the run with it.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "store/captures/capture_counters.h"
#include "store/rocks/counters.h"
#include "store/testing/simulated_state.h"
#include "store/testing/simulation.h"

namespace fathom::store::testing {

namespace {

constexpr char kStateFile[] = "/start.txt";

struct Header {
  uint64_t version = 1, seed = 0, steps = 0, damages = 0, durability = 0;

  template <typename Visit>
  void visit_state(Visit& visit) {
    visit("version", version);
    visit("seed", seed);
    visit("steps", steps);
    visit("damages", damages);
    visit("durability", durability);
  }
};

}  // namespace

template <typename Visit>
void Simulation::visit_state(Visit& visit) {
  visit("random", random_);
  rig_.visit_state(visit);
  auto phase = static_cast<uint64_t>(phase_);
  visit("phase", phase);
  phase_ = static_cast<Phase>(phase);
  visit("steps_done", steps_done_);
  visit("acknowledgements", acknowledgements_);
  visit("clock_steps", clock_steps_);
  visit("steps_at_boot", steps_at_boot_);
  visit("crash_after", crash_after_);
  visit("retries_next", retries_next_);
  visit("write_was_lost", write_was_lost_);
  visit("starts_left", starts_left_);
  visit("lost_batches", lost_batches_);
  visit("lost_captures", lost_captures_);
  // Counters begin at 0 in the process that replays.
  uint64_t counted_batches = lost_batches().value() - counted_batches_;
  uint64_t counted_captures = lost_captures().value() - counted_captures_;
  uint64_t counted_left_out = seals_without_older_spans().value() - counted_left_out_;
  visit("counted_batches", counted_batches);
  visit("counted_captures", counted_captures);
  visit("counted_left_out", counted_left_out);
  counted_batches_ = lost_batches().value() - counted_batches;
  counted_captures_ = lost_captures().value() - counted_captures;
  counted_left_out_ = seals_without_older_spans().value() - counted_left_out;
  batches_.visit_state(visit);
  captures_.visit_state(visit);
}

void Simulation::note_start() {
  if (options_.before_start) options_.before_start(batches_);
  if (options_.save.empty()) return;
  std::ostringstream text;
  StateWriter writer(text);
  Header{1, seed_, options_.steps, options_.damages, options_.durability == Durability::kOs}.visit_state(writer);
  visit_state(writer);
  std::filesystem::create_directories(last_start());
  std::ofstream(last_start() + kStateFile) << text.str();
}

void Simulation::describe_failure() {
  result_.fault += "\nthe last events:\n";
  for (const std::string& event : history_) result_.fault += "  " + event + "\n";
  if (options_.save.empty()) return;
  const std::string directory = options_.save + "/seed-" + std::to_string(seed_);
  save_start(directory);
  result_.fault += "The last start is saved in " + directory + "; run --replay " + directory;
}

void Simulation::save_start(const std::string& directory) const {
  std::error_code fault;
  std::filesystem::remove_all(directory, fault);
  std::filesystem::create_directories(directory, fault);
  std::filesystem::copy(last_start(), directory, std::filesystem::copy_options::recursive, fault);
}

bool Simulation::load(const std::string& directory) {
  std::ifstream text(directory + kStateFile);
  StateReader reader(text);
  Header header;
  header.visit_state(reader);
  visit_state(reader);
  rig_.take_image(directory + "/data");
  return !reader.failed();
}

Result<SimulationResult> Simulation::replay(const std::string& directory) {
  std::ifstream text(directory + kStateFile);
  StateReader reader(text);
  Header header;
  header.visit_state(reader);
  if (reader.failed() || header.version != 1) {
    return corrupt("cannot read " + directory + kStateFile + ": it is missing or of another version of this program");
  }
  SimulationOptions options;
  options.steps = header.steps;
  options.damages = header.damages != 0;
  options.durability = header.durability != 0 ? Durability::kOs : Durability::kFsync;
  Simulation simulation(header.seed, options);
  if (!simulation.load(directory)) return corrupt("cannot read " + directory + kStateFile + ": a value is missing");
  simulation.start();
  return simulation.finish();
}

}  // namespace fathom::store::testing
