// FakeCaptureOutbox: keeps captures so that a test can inspect them. Thread safety: none.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capture/decode.h"
#include "node-agent/control.h"

namespace fathom::agent::testing {

class FakeCaptureOutbox : public CaptureOutbox {
 public:
  LocalInstant mark() override { return now; }
  void send(OutgoingCapture capture, std::function<void(CaptureFate)> done) override {
    captures.push_back(std::move(capture));
    fates.push_back(std::move(done));
  }
  bool report_skipped(const ingest::SkippedCaptures& some) override {
    skipped.insert(skipped.end(), some.begin(), some.end());
    return true;
  }
  void announce(ingest::SlowTrace trace) override { announced.push_back(std::move(trace)); }
  std::vector<CaptureTrigger> triggers() const {
    std::vector<CaptureTrigger> all;
    for (const OutgoingCapture& capture : captures) all.push_back(capture.begin.trigger);
    return all;
  }
  capture::Capture content(size_t number) const {
    Result<capture::Capture> decoded = capture::decode(*captures.at(number).content);
    EXPECT_TRUE(decoded.ok()) << decoded.error().message;
    return decoded ? *std::move(decoded) : capture::Capture{};
  }
  // The values of all events, which must be texts.
  std::vector<std::string> texts(size_t number) const {
    std::vector<std::string> all;
    for (const capture::Thread& thread : content(number).threads) {
      for (const capture::Value& value : thread.values) all.emplace_back(thread.text_of(value));
    }
    return all;
  }

  LocalInstant now;
  std::vector<OutgoingCapture> captures;
  std::vector<std::function<void(CaptureFate)>> fates;  // the `done` of each capture
  ingest::SkippedCaptures skipped;
  std::vector<ingest::SlowTrace> announced;
};

}  // namespace fathom::agent::testing
