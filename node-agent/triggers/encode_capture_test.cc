#include "node-agent/triggers/encode_capture.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "capture/decode.h"
#include "node-agent/testing/agent_fixture.h"

namespace fathom::agent {
namespace {

bool told_as_ended(const ProcessId& process) {
  auto program = std::make_shared<WatchedProgram>();
  program->process = process;  // as when the request came: it had not ended then
  CaptureJob job;
  job.subjects.emplace_back();
  job.program = std::move(program);
  job.open.emplace();
  auto encoded = encode_capture(job, TickTimes(ClockReading{}));
  EXPECT_TRUE(encoded.ok());
  auto content = capture::decode(encoded->content);
  EXPECT_TRUE(content.ok());
  return content->ended;
}

TEST(EncodeCapture, AProcessMayHaveEndedSinceTheRequestCame) {
  testing::Sleeper sleeper;
  const ProcessId process = identify_process(sleeper.pid());
  EXPECT_FALSE(told_as_ended(process));
  sleeper.kill();
  EXPECT_TRUE(told_as_ended(process));
}

}  // namespace
}  // namespace fathom::agent
