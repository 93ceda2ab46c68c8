// Programs: every pool that this agent reads, from its offer to its last span.
//
// Purpose: takes offers, recognises a pool that is offered again (by a program that came back, or whose second
// connection this is), keeps each pool with the supervisor as long as it is read, limits what one user may make us
// read. Thread safety: none, belongs to the agent's loop. Ownership: shared, because a batch under way outlives its
// place here. Errors: as verdicts to the program. Hostility: of all that is offered.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "node-agent/agent/program.h"
#include "node-agent/fd_store/fd_store.h"
#include "node-agent/pool/losses.h"
#include "node-agent/socket/listener.h"

namespace fathom::agent {

struct ProgramLimits {
  size_t most_pools = 8192;
  size_t most_pools_per_user = 2048;
  // Each chunk costs 72 bytes of our memory, and a look at each poll.
  uint64_t most_chunks = 4 << 20;
  uint64_t most_chunks_per_user = 2 << 20;
  // Memory of programs that are gone, which only we still hold: while nothing is taken from us, beyond this pools are
  // dropped, of the user who holds most the one whose program is gone longest.
  // As much again may be held of those that are read, and whose losses no collector has heard of yet.
  uint64_t most_bytes_of_ended = 1 << 30;
};

class Programs : public OfferHandler {
 public:
  // `redaction`: of programs' resources; outlives this; null: no rules. `marks_spans`: every program is asked to say
  // its active span to Intel PT (PTWRITE), as long as we read its pool.
  Programs(FdStore& store, AgentLosses& losses, const ProgramLimits& limits, const ProgramTimes& times,
           bool marks_spans = false, const CurrentRedaction* redaction = nullptr);
  ~Programs() override;
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;

  // A pool that was kept from before. False: it is none, and is not kept any longer.
  bool adopt(const std::string& name, Fd descriptor);
  pool::Verdict offered(ConnectionId connection, const Peer& peer, Fd descriptor, uint64_t pool_bytes) override;
  void closed(ConnectionId connection) override;

  // Looks after all programs, lets go of those that are over and read, or that another agent reads now.
  void tick(uint64_t now_monotonic_nano);
  void for_each(const std::function<void(const std::shared_ptr<Program>&)>& visit) const;
  // Marks, when it is called, what is counted now of programs' losses as told; in those pools that are still read.
  std::function<void()> losses_told() const;
  size_t size() const { return programs_.size(); }
  // Null: none of that connection, or of that user and process id (of the pool's header).
  std::shared_ptr<Program> find(ConnectionId connection) const;
  std::shared_ptr<Program> find(uid_t uid, const std::array<uint8_t, 16>& process_id) const;
  // Called when an offer was taken: the new program has spans, likely.
  std::function<void(const std::shared_ptr<Program>&)> on_taken;
  // Called for each connection of a pool that is not read any more. A program that lives all the same, because it was
  // misjudged or because another reader went away again, offers its pool anew when its connection ends.
  std::function<void(ConnectionId)> on_let_go;

 private:
  struct Held {
    size_t pools = 0;
    uint64_t chunks = 0;
  };

  std::shared_ptr<Program> make(const ProgramId& id, PoolFile file);
  bool has_room(uid_t uid, uint32_t chunks) const;
  void look_after(uint64_t now_nano);
  void limit_ended();
  Program* longest_ended(uid_t of_user) const;
  void drop_unread(Program& program);
  bool may_go(Program& program, uint64_t now_nano, uint64_t& untold_bytes) const;
  void let_go(std::map<PoolKey, std::shared_ptr<Program>>::iterator at);

  FdStore& store_;
  AgentLosses& losses_;
  const ProgramLimits limits_;
  const ProgramTimes times_;
  const uint64_t instance_;
  const bool marks_spans_;
  const CurrentRedaction* const redaction_;
  std::map<PoolKey, std::shared_ptr<Program>> programs_;
  std::map<ConnectionId, PoolKey> connections_;
  std::map<uid_t, Held> users_;
  MapReader maps_{maps_inode};
  Held all_;
};

}  // namespace fathom::agent
