#include "node-agent/triggers/made_content.h"

#include <gtest/gtest.h>

#include "node-agent/triggers/capture_job.h"

namespace fathom::agent {
namespace {

bool can_wait(JobOwner owner, CaptureTrigger trigger) {
  CaptureJob job;
  job.program = std::make_shared<const WatchedProgram>();
  job.owner = owner;
  return outgoing_of({.trigger = trigger}, made_content(job, {})).can_wait;
}

TEST(MadeContent, WhatWasKeptCanWait) {
  EXPECT_FALSE(can_wait(JobOwner::kTrigger, CaptureTrigger::kError));
  EXPECT_FALSE(can_wait(JobOwner::kTrigger, CaptureTrigger::kSlow)) << "the rest of one that was overdue";
  EXPECT_FALSE(can_wait(JobOwner::kTrigger, CaptureTrigger::kRemote));
  EXPECT_TRUE(can_wait(JobOwner::kProvisionalCaptures, CaptureTrigger::kSlow));
  EXPECT_TRUE(can_wait(JobOwner::kHeldTraces, CaptureTrigger::kRemote));
}

}  // namespace
}  // namespace fathom::agent
