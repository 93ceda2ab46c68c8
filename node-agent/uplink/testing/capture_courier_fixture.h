// CaptureCourierTest: a CaptureCourier, a link that records what is sent, and actions of the collector.
//
// Header-only, because only tests of this folder share it. Thread safety: none.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "node-agent/testing/nano.h"
#include "node-agent/uplink/capture_courier.h"
#include "node-agent/uplink/testing/fake_world.h"

namespace fathom::agent::testing {

class CaptureCourierTest : public ::testing::Test {
 protected:
  using State = ingest::CaptureProgress::State;
  using Fates = std::vector<CaptureFate>;
  static constexpr uint64_t kPart = CaptureCourier::kPartBytes;

  void make(uint64_t memory_bytes = 64 << 20) {
    CaptureCourier::Surroundings all;
    all.now_nano = [this] { return world_.now; };
    all.offset = [this](const LocalInstant& made) { return asked_of_ = made, clock_; };
    all.post = [this](std::function<void()> work) { world_.posted.push_back(std::move(work)); };
    courier_ = std::make_unique<CaptureCourier>(memory_bytes, std::move(all));
  }
  static std::string content_of(uint8_t number, size_t size) {
    std::string content(size, static_cast<char>(number));
    for (size_t i = 0; i < size; i += 1000) content[i] = static_cast<char>(i / 1000);
    return content;
  }
  static OutgoingCapture capture(uint8_t number, size_t size) {
    OutgoingCapture made;
    made.begin.id.bytes[0] = number;
    made.content = std::make_shared<const std::string>(content_of(number, size));
    return made;
  }
  void send(uint8_t number, size_t size) { send(capture(number, size)); }
  void send_that_can_wait(uint8_t number, size_t size) {
    OutgoingCapture made = capture(number, size);
    made.can_wait = true;
    send(std::move(made));
  }
  // Sends one more capture with the content of `other`.
  void send_sharing(uint8_t number, const OutgoingCapture& other) {
    OutgoingCapture made = other;
    made.begin.id.bytes[0] = number;
    made.begin.sha256.bytes[0] = other.begin.id.bytes[0];
    send(std::move(made));
  }
  void send(OutgoingCapture made) {
    auto sending = std::make_shared<bool>(true);
    const uint8_t number = made.begin.id.bytes[0];
    courier_->send(std::move(made), [this, number, sending](CaptureFate fate) {
      EXPECT_FALSE(*sending) << "never from within send()";
      fates_[number].push_back(fate);
    });
    *sending = false;
    pump();
  }
  void open(uint64_t window = 8 << 20, uint64_t most = 64 << 20, bool shares = true) {
    link_ = std::make_unique<FakeLink>(LinkEvents{}, world_);
    courier_->welcomed(
        {.max_capture_bytes = most, .max_capture_bytes_under_way = window, .shares_capture_contents = shares});
    pump();
  }
  void close() {
    courier_->link_ended();
    link_.reset();
  }
  void pump() {
    if (link_) courier_->pump(*link_);
  }
  void say(uint8_t number, State state, uint64_t taken = 0, uint64_t retry_after = 0) {
    ingest::CaptureProgress progress{.state = state, .taken_bytes = taken, .retry_after_nano = retry_after};
    progress.id.bytes[0] = number;
    courier_->heard(progress);
    pump();
  }
  std::vector<int> begun() const {
    std::vector<int> numbers;
    for (const auto& begin : link_->begins) numbers.push_back(static_cast<uint8_t>(begin.capture_id()[0]));
    return numbers;
  }
  uint64_t sent_bytes() const {
    uint64_t bytes = 0;
    for (const auto& part : link_->parts) bytes += part.content().size();
    return bytes;
  }
  Fates fates(uint8_t number) {
    world_.run();
    return fates_[number];
  }
  uint64_t lost(const std::string& name) const {
    for (const auto& [reason, count] : courier_->losses()) {
      if (reason == name) return count;
    }
    return 0;
  }

  FakeWorld world_;
  std::optional<ClockOffset> clock_;
  LocalInstant asked_of_;
  std::unique_ptr<FakeLink> link_;
  std::map<uint8_t, Fates> fates_;
  std::unique_ptr<CaptureCourier> courier_;
};

}  // namespace fathom::agent::testing
