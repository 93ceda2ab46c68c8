// DetailPool: the last events of one traced program, as long as they may be asked for.
//
// Purpose: beside a program's span pool, which is drained, stands its detail pool, which is only kept: while the
// program lives, and for a while after its end, because a crash is what people want to see. Which program it belongs to
// is said by the process id in both headers, of the same user. Thread safety: snapshot() and tracepoints() from any
// thread, one snapshot at a time; all else belongs to the agent's loop, which never waits for a snapshot. Ownership: of
// the memory file; shared with who reads it. Units: nanoseconds of the monotonic clock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "node-agent/agent/program.h"
#include "node-agent/detail/detail_reader.h"
#include "node-agent/pool/loss_marks.h"
#include "node-agent/pool/losses.h"

namespace fathom::agent {

struct DetailTimes {
  uint64_t keep_nano = 60'000'000'000;  // after the program's end
  uint64_t grace_nano = 5'000'000'000;  // to come back after a connection ended, or after our own restart
  uint64_t look_nano = 500'000'000;     // between two looks at a process
};

class DetailPool {
 public:
  // The program of a process id, if its span pool is here.
  using FindProgram = std::function<std::shared_ptr<Program>(uid_t, const std::array<uint8_t, 16>&)>;

  DetailPool(const ProgramId& id, DetailFile file, uint64_t now_nano)
      : id_(id),
        stored_name_(id.store_name(ProgramId::kDetail)),
        reader_(std::move(file)),
        alone_since_nano_(now_nano) {}

  const ProgramId& id() const { return id_; }
  const std::string& stored_name() const { return stored_name_; }
  const DetailFile& file() const { return reader_.file(); }
  // Waits for the one under way: each may hold a quarter of the pool's chunks, and that is all that may be held.
  DetailSnapshot snapshot(const TickWindow& window, uint64_t budget_bytes);
  // Null: its span pool is not here, or not any more.
  std::shared_ptr<Program> program() const;
  // Its program's service.name, as it was last said.
  const std::string& service() const { return service_; }
  TracepointTable tracepoints() const;

  void connected(ConnectionId connection, const Peer& peer);
  void disconnected(ConnectionId connection, uint64_t now_nano);
  const std::set<ConnectionId>& connections() const { return connections_; }
  void look(uint64_t now_nano, const DetailTimes& times, const FindProgram& find);
  bool ended() const { return ended_; }
  uint64_t ended_since_nano() const { return ended_since_nano_; }
  uint64_t held_bytes() const { return file().memory().memory_bytes(); }

  void count_losses(uint64_t now_nano, AgentLosses& losses);
  const LossMarks& marks() const { return marks_; }
  void mark_told(const LossMarks::Counts& heard) { marks_.mark_told(heard, file().header().counted_losses); }

 private:
  void find_program(uint64_t now_nano, const FindProgram& find);
  bool is_over(uint64_t now_nano, const DetailTimes& times) const;

  ProgramId id_;
  const std::string stored_name_;
  DetailReader reader_;
  std::mutex snapshots_;  // of reader_.snapshot()
  std::weak_ptr<Program> program_;
  bool had_program_ = false;
  uint64_t first_find_nano_ = 0;
  uint64_t next_find_nano_ = 0;
  std::string service_;
  std::set<ConnectionId> connections_;
  uint64_t alone_since_nano_;
  uint64_t next_look_nano_ = 0;
  bool ended_ = false;
  uint64_t ended_since_nano_ = 0;
  LossMarks marks_;
};

}  // namespace fathom::agent
