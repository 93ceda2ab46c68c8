// Drain: makes batches of what programs left in their pools, one pool after the other, and hands them to the outbox.
//
// Purpose: each pool gives one batch (up to a megabyte) when it is its user's turn and its own (turns.h), so that a
// busy program, or a hostile user with thousands of pools, takes a share of the loop and of the stream (shares.h) and
// not more; a step is a few milliseconds at most. When the outbox has no room all stand still, and spans stay where
// they are. Thread safety: none, belongs to the agent's loop. Ownership: shared, of queued programs. Errors: none.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "base/metrics.h"
#include "node-agent/agent/look_budget.h"
#include "node-agent/agent/program.h"
#include "node-agent/agent/shares.h"
#include "node-agent/agent/turns.h"
#include "node-agent/clock/tick_clock.h"
#include "node-agent/otlp/span_encoder.h"
#include "node-agent/outbox.h"

namespace fathom::agent {

struct DrainOptions {
  std::array<uint8_t, 16> node_id{};
  std::array<uint8_t, 16> boot_id{};
  uint64_t batch_bytes = 768 << 10;         // of records; fewer where the outbox takes less
  uint64_t batch_pause_nano = 100'000'000;  // between two batches of a program that is not busy
  uint64_t longest_fruitless_nano = 400'000'000;
  FinishedSpans* finished_spans = nullptr;  // told of every span that is read
  LookBudget::Limits thread_looks;          // for threads of programs with numbers of their own
};

// The same for the same ranges of the same pool, whoever reads them, as long as this host runs.
std::array<uint8_t, 16> batch_identity(const DrainOptions& options, const PoolReader& reader);

class Drain {
 public:
  Drain(boost::asio::io_context& loop, const DrainOptions& options, TickClock& clock, AgentLosses& losses,
        Outbox& outbox);
  ~Drain() { *alive_ = false; }

  // To be read when its turn comes, unless it is waiting already or a batch of it is under way.
  void add(const std::shared_ptr<Program>& program);
  // Goes on with the queue, when the outbox may have room again.
  void go_on();
  // The agent stops: pools are read without pauses, and each is marked when it was read to where it stood.
  void hurry() { hurries_ = true; }
  // Nothing more is read: what is still in the pools is for a successor.
  void halt() { halted_ = true; }
  size_t under_way() const { return under_way_; }

 private:
  enum class Step { kDone, kNoRoom };

  void post_step();
  void step();
  bool may_send(uid_t user);
  Step drain(const std::shared_ptr<Program>& program);
  uint64_t batch_bytes() const;
  const std::string& resource_of(Program& program);
  Collected collect(Program& program);
  Collected collect_with(Program& program);
  void note_fruitless(Program& program, const Collected& collected);
  void send(const std::shared_ptr<Program>& program, const Collected& collected);
  void kept(const std::shared_ptr<Program>& program, bool was_full);

  boost::asio::io_context& loop_;
  const DrainOptions options_;
  TickClock& clock_;
  AgentLosses& losses_;
  Outbox& outbox_;
  LookBudget thread_looks_;
  SpanEncoder encoder_;
  std::string resource_;  // of the program at hand
  Counter& spans_;
  Counter& batches_;
  Counter& bytes_;
  Counter& no_room_;
  Turns<Program> turns_;
  Shares shares_;
  size_t under_way_ = 0;
  bool posted_ = false;
  bool hurries_ = false;
  bool halted_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace fathom::agent
