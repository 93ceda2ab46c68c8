// DetailPools: the detail pools of this host's programs, from their offer until some time after their programs' end.
//
// Purpose: what a capture reads. Takes offers, recognises a pool that is offered again, keeps each with the supervisor,
// limits what one user may make us hold: room for a living program's is made by letting go of what the same user's
// programs left that are over. Thread safety: none, belongs to the agent's loop. Ownership: shared, because who reads a
// pool may outlive its place here. Errors: as verdicts to the program. Hostility: of all that is offered.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "node-agent/agent/detail_pool.h"
#include "node-agent/fd_store/fd_store.h"
#include "node-agent/pool/losses.h"
#include "node-agent/socket/listener.h"

namespace fathom::agent {

struct DetailLimits {
  size_t most_pools = 8192;
  size_t most_pools_per_user = 2048;
  // Of each 64 bytes are mapped.
  uint64_t most_chunks = 16 << 20;
  uint64_t most_chunks_per_user = 8 << 20;
  // Memory of programs that are over, which only we still hold: beyond this, of the user who holds most the pool goes
  // whose program is gone longest.
  uint64_t most_bytes_of_ended = 1 << 30;
};

class DetailPools {
 public:
  DetailPools(FdStore& store, AgentLosses& losses, const DetailLimits& limits, const DetailTimes& times);

  // A pool that was kept from before. False: it is none, and is not kept any longer.
  bool adopt(const std::string& name, Fd descriptor);
  pool::Verdict offered(ConnectionId connection, const Peer& peer, Fd descriptor, uint64_t pool_bytes);
  void closed(ConnectionId connection);
  void tick(uint64_t now_monotonic_nano, const DetailPool::FindProgram& find);

  void for_each(const std::function<void(const std::shared_ptr<DetailPool>&)>& visit) const;
  // As Programs::losses_told().
  std::function<void()> losses_told() const;
  size_t size() const { return pools_.size(); }

 private:
  struct Held {
    size_t pools = 0;
    uint64_t chunks = 0;
  };
  using Pools = std::map<PoolKey, std::shared_ptr<DetailPool>>;

  std::shared_ptr<DetailPool> make(const ProgramId& id, DetailFile file);
  bool has_room(uid_t user, uint32_t chunks) const;
  bool make_room(uid_t user, uint32_t chunks);
  Pools::iterator longest_ended(uid_t of_user);
  void limit_ended();
  void let_go(Pools::iterator at);

  FdStore& store_;
  AgentLosses& losses_;
  const DetailLimits limits_;
  const DetailTimes times_;
  Pools pools_;
  std::map<ConnectionId, PoolKey> connections_;
  std::map<uid_t, Held> users_;
  Held all_;
};

}  // namespace fathom::agent
