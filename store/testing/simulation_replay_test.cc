// A replay continues a run with its last start, with the options, the clock and the expectations of that start.
#include <gtest/gtest.h>

#include "base/testing/temp_directory.h"
#include "store/testing/simulation.h"

namespace fathom::store::testing {
namespace {

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

class SimulationReplay : public ::testing::Test {
 protected:
  std::string saved(uint64_t seed) const { return directory_ / ("seed-" + std::to_string(seed)); }
  SimulationOptions options() const {
    SimulationOptions options;
    options.steps = 30;
    options.save = directory_ / "";
    return options;
  }

  TempDirectory directory_;
};

TEST_F(SimulationReplay, ReportsTheFaultOfTheRun) {
  for (uint64_t seed : {1, 3, 5}) {  // without retention, which may drop the batch
    uint64_t starts = 0;
    SimulationOptions wrong = options();
    wrong.before_start = [&](SimulatedBatches& batches) {
      if (++starts >= 2) batches.make({}).acknowledged = true;  // it was never sent
    };
    const SimulationResult run = Simulation(seed, wrong).run();
    EXPECT_NE(run.fault.find("an acknowledged batch is"), std::string::npos) << run.fault;
    for (int i = 0; i < 2; ++i) {
      const Result<SimulationResult> replayed = Simulation::replay(saved(seed));
      ASSERT_TRUE(replayed.ok()) << replayed.error().message;
      EXPECT_EQ(first_line(replayed->fault), first_line(run.fault));
    }
  }
}

// Retention, stopped and stepped clocks and damage decide what the store must have.
TEST_F(SimulationReplay, ReportsNoFaultOfAGoodRun) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Simulation simulation(seed, options());
    ASSERT_EQ(simulation.run().fault, "");
    simulation.save_start(saved(seed));
    const Result<SimulationResult> replayed = Simulation::replay(saved(seed));
    ASSERT_TRUE(replayed.ok()) << replayed.error().message;
    EXPECT_EQ(replayed->fault, "");
  }
}

TEST_F(SimulationReplay, RejectsAMissingState) {
  EXPECT_FALSE(Simulation::replay(directory_ / "nothing").ok());
}

}  // namespace
}  // namespace fathom::store::testing
