// How long fathom_flush() waits, and for whom.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>

#include "client/testing/child_program.h"
#include "client/testing/fake_agent.h"
#include "client/testing/pool_reader.h"

namespace fathom::client {
namespace {

using testing::ChildProgram;
using testing::FakeAgent;
using testing::kAgentTimeoutMs;
using testing::kNodeId;
using testing::PoolReader;

// A path at which there may be an agent, and where there is none yet.
class Place {
 public:
  Place() {
    char name[] = "/tmp/fathom-test-XXXXXX";
    if (mkdtemp(name) == nullptr) std::abort();
    directory_ = name;
  }
  ~Place() { std::filesystem::remove_all(directory_); }
  std::string socket() const { return directory_ + "/agent.sock"; }

 private:
  std::string directory_;
};

std::unique_ptr<ChildProgram> start_flush(const std::string& mode, const std::string& socket,
                                          const std::string& timeout_nano = "") {
  return std::make_unique<ChildProgram>(std::vector<std::string>{FATHOM_PROGRAMS "/client_victim", mode, timeout_nano},
                                        std::vector<std::string>{"FATHOM_AGENT_SOCKET=" + socket, "XDG_RUNTIME_DIR="});
}

uint64_t nano_since(const std::chrono::steady_clock::time_point& begin) {
  return static_cast<uint64_t>((std::chrono::steady_clock::now() - begin).count());
}

TEST(Flush, DoesNotWaitForNobody) {
  constexpr uint64_t kLongNano = 600'000'000'000;
  const Place place;
  for (const std::string& socket : {std::string(), place.socket(), std::string("/proc/version/agent.sock")}) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(start_flush("flush", socket, std::to_string(kLongNano))->line(), "-1") << socket;
    EXPECT_LT(nano_since(begin), kLongNano / 2);
  }
}

TEST(Flush, WaitsWhereAnAgentLeftItsSocket) {
  constexpr uint64_t kShortNano = 200'000'000;
  const Place place;
  std::ofstream(place.socket()).put(' ');
  for (const std::string& socket : {place.socket(), std::string("@fathom-test-nobody")}) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(start_flush("flush", socket, std::to_string(kShortNano))->line(), "-1");
    EXPECT_GE(nano_since(begin), kShortNano);
  }
}

TEST(Flush, WaitsForAnAgentThatHasBeenThere) {
  const Place place;
  FakeAgent agent(place.socket());
  auto program = start_flush("flush-when-told", place.socket());
  ASSERT_TRUE(agent.accept(kAgentTimeoutMs).has_value());
  {
    auto first = agent.accept(kAgentTimeoutMs);
    ASSERT_TRUE(first.has_value() && first->answer(pool::Verdict::kTaken, kNodeId));
  }
  auto again = agent.accept(kAgentTimeoutMs);  // so the program has read the answer
  ASSERT_TRUE(again.has_value());
  agent.close();
  ASSERT_FALSE(std::filesystem::exists(place.socket()));
  program->say("flush");
  PoolReader reader = PoolReader::of_file(again->pool.get());
  for (size_t taken = 0; taken < 101;) taken += reader.take().size();
  EXPECT_EQ(program->line(), "0");
}

}  // namespace
}  // namespace fathom::client
