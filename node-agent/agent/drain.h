// Drain: reads finished spans from the programs' pools, one pool at a time, and hands them to the outbox in batches.
//
// Purpose: users take turns, and so do the pools of each user (turns.h). A turn reads one batch of up to a megabyte and
// takes a few milliseconds. So a busy program, or a hostile user with thousands of pools, gets no more than its share
// of the loop and of the stream (shares.h). While the outbox has no room, spans stay in the pools. Thread safety: none,
// belongs to the agent's loop. Ownership: queued programs are shared. Errors: none.
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
  uint64_t batch_bytes = 768 << 10;  // of records; fewer if the outbox accepts less
  // The longest and the shortest pause between two batches of a program that is not busy.
  uint64_t batch_pause_nano = 300'000'000;
  uint64_t short_batch_pause_nano = 100'000'000;
  uint64_t pause_per_span_nano = 20'000'000;  // of the last batch: a program with few spans need not wait for more
  uint64_t longest_fruitless_nano = 400'000'000;
  FinishedSpans* finished_spans = nullptr;      // receives every span that is read
  const CurrentRedaction* redaction = nullptr;  // of spans; null: no rules
  LookBudget::Limits thread_looks;              // for thread ids of programs in other pid namespaces
};

// Equal for the same batch of the same pool, whichever agent reads it, until the host reboots.
std::array<uint8_t, 16> batch_identity(const DrainOptions& options, const PoolReader& reader);

class Drain {
 public:
  Drain(boost::asio::io_context& loop, const DrainOptions& options, TickClock& clock, AgentLosses& losses,
        Outbox& outbox);
  ~Drain() { *alive_ = false; }

  // Queues the program, unless it is queued already or one of its batches is under way.
  void add(const std::shared_ptr<Program>& program);
  // Resumes the queue. To be called when the outbox may have room again.
  void go_on();
  // For the agent's shutdown: reads without pauses, and sets `final_round` of programs that are read to the end.
  void hurry() { hurries_ = true; }
  // Stops reading. The next agent reads the spans that are still in the pools.
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
  void pause(Program& program, uint32_t spans) const;
  void send(const std::shared_ptr<Program>& program, const Collected& collected);
  void kept(const std::shared_ptr<Program>& program, bool was_full);

  boost::asio::io_context& loop_;
  const DrainOptions options_;
  TickClock& clock_;
  AgentLosses& losses_;
  Outbox& outbox_;
  LookBudget thread_looks_;
  SpanEncoder encoder_;
  std::string resource_;  // of the current program
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
