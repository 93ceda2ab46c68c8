// FakeWorld: surroundings of a Courier: a clock that a test sets, links that record, a spool in memory, posted work.
//
// Header-only, because only tests of this folder share it. Thread safety: none, one thread.
#pragma once

#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ingest.pb.h"
#include "node-agent/testing/nano.h"
#include "node-agent/uplink/courier.h"

namespace fathom::agent::testing {

namespace wire = fathom::ingest::v1;

class FakeWorld;

class FakeLink : public Link {
 public:
  FakeLink(LinkEvents events, FakeWorld& world) : events_(std::move(events)), world_(world) {}
  ~FakeLink() override;

  void send(std::string head, std::shared_ptr<const std::string> body) override {
    wire::AgentMessage message;
    if (!message.ParseFromString(head + (body ? *body : ""))) std::abort();
    batches.push_back(message.batch());
  }
  void send_capture(std::string head, std::shared_ptr<const std::string>, std::string_view part) override {
    wire::AgentMessage message;
    if (!message.ParseFromString(head + std::string(part))) std::abort();
    if (message.has_capture_begin()) begins.push_back(message.capture_begin());
    if (message.has_capture_part()) parts.push_back(message.capture_part());
  }
  void answer(std::string text) override {
    if (!answers.emplace_back().ParseFromString(text)) std::abort();
  }
  void report(std::string text, uint64_t number) override {
    wire::AgentMessage message;
    if (!message.ParseFromString(text)) std::abort();
    statuses.push_back(message.status());
    last_report = number;
  }
  void probe() override { ++probes; }
  void close() override { events_.ended("closed"); }

  void welcome(uint64_t window = 1'000'000, uint32_t batches_under_way = 100, uint64_t max_batch = 100'000,
               uint64_t max_capture = 64 << 20, uint64_t capture_window = 8 << 20) {
    events_.welcome({"1.0", max_batch, window, batches_under_way, max_capture, capture_window, true});
  }
  void progress(const ingest::CaptureProgress& said) { events_.progress(said); }
  void ask(LinkControl asked) { events_.asked(std::move(asked)); }
  void answer_probe(const ProbeTimes& times, uint64_t report) { events_.probed({times, report}); }
  void ack(uint64_t sequence, ingest::Ack::Outcome outcome = ingest::Ack::Outcome::kDurable, uint64_t retry_after = 0,
           uint64_t rejected = 0) {
    events_.ack({sequence, outcome, retry_after, "because", rejected});
  }
  void end() { events_.ended("broken"); }

  std::vector<wire::Batch> batches;
  std::vector<wire::NodeStatus> statuses;
  std::vector<wire::CaptureBegin> begins;
  std::vector<wire::CapturePart> parts;
  std::vector<wire::AgentMessage> answers;
  uint64_t last_report = 0;
  int probes = 0;

 private:
  const LinkEvents events_;
  FakeWorld& world_;
};

class FakeSpool : public SpoolPort {
 public:
  struct Entry {
    SpoolHead head;
    std::string otlp;
    bool taken = false;
  };
  explicit FakeSpool(FakeWorld& world) : world_(world) {}

  void append(SpoolHead head, std::shared_ptr<const std::string> otlp, bool taken,
              std::function<void(Result<uint64_t>)> done) override;
  void take_next(std::function<void(Result<std::optional<SpooledBatch>>)> done) override;
  void release(uint64_t id) override { entries.at(id).taken = false; }
  void remove(uint64_t id) override {
    if (entries.erase(id) == 0) std::abort();
  }
  void tend() override { ++tended; }
  void set_limit(uint64_t bytes) override { limit_bytes = bytes; }
  Figures figures() const override { return {entries.size() * 100, 0}; }

  std::map<uint64_t, Entry> entries;
  size_t room = SIZE_MAX;  // entries
  bool readable = true;
  int takes = 0;
  int tended = 0;
  uint64_t limit_bytes = UINT64_MAX;  // as it was last set
  uint64_t next_id = 1;

 private:
  FakeWorld& world_;
};

class FakeWorld {
 public:
  static constexpr uint64_t kRealMinusBoot = 1'700'000'000 * kSecond;

  std::unique_ptr<Courier> courier(UplinkOptions options = {}) {
    Courier::Surroundings all;
    all.now_nano = [this] { return now; };
    all.instant = [this] { return LocalInstant{now + kRealMinusBoot, now, 0}; };
    all.post = [this](std::function<void()> work) { posted.push_back(std::move(work)); };
    all.open_link = [this](LinkEvents events) {
      auto made = std::make_unique<FakeLink>(std::move(events), *this);
      link = made.get();
      ++links;
      return made;
    };
    all.report = [this] {
      wire::AgentMessage message;
      message.mutable_status()->set_programs(7);
      return Courier::Report{message.SerializeAsString(), [this, lost = lost] { told.push_back(lost); }};
    };
    all.control = [this] { return control; };
    auto made_spool = std::make_unique<FakeSpool>(*this);
    spool = made_spool.get();
    return std::make_unique<Courier>(std::move(options), std::move(all), std::move(made_spool));
  }
  // Runs all posted work, including what that work posts.
  void run() {
    while (!posted.empty()) {
      auto work = std::move(posted.front());
      posted.pop_front();
      work();
    }
  }

  uint64_t now = 1000 * kSecond;
  std::deque<std::function<void()>> posted;
  FakeLink* link = nullptr;  // the current one
  FakeSpool* spool = nullptr;
  ControlHandler* control = nullptr;
  int links = 0;
  int lost = 0;           // goes into the next report
  std::vector<int> told;  // `lost` of the reports that were received
};

inline FakeLink::~FakeLink() {
  if (world_.link == this) world_.link = nullptr;
}

inline void FakeSpool::append(SpoolHead head, std::shared_ptr<const std::string> otlp, bool taken,
                              std::function<void(Result<uint64_t>)> done) {
  world_.posted.push_back([this, head, otlp, taken, done] {
    if (entries.size() >= room) return done(exhausted("full"));
    entries[next_id] = {head, *otlp, taken};
    done(next_id++);
  });
}

inline void FakeSpool::take_next(std::function<void(Result<std::optional<SpooledBatch>>)> done) {
  world_.posted.push_back([this, done] {
    ++takes;
    if (!readable) return done(unavailable("cannot be read"));
    for (auto& [id, entry] : entries) {
      if (std::exchange(entry.taken, true)) continue;
      return done(std::optional(SpooledBatch{id, entry.head, true, entry.otlp}));
    }
    done(std::optional<SpooledBatch>());
  });
}

}  // namespace fathom::agent::testing
