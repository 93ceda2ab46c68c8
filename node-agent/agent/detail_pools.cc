#include "node-agent/agent/detail_pools.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/metrics.h"
#include "base/time.h"

namespace fathom::agent {

namespace {

Gauge& holding() {
  static Gauge& gauge =
      fathom::gauge("fathom_agent_detail_pools", "Detail pools of programs that this agent holds for captures.");
  return gauge;
}

PoolKey key_of(const DetailFile& file) {
  return {file.memory().device(), file.memory().inode()};
}

}  // namespace

DetailPools::DetailPools(FdStore& store, AgentLosses& losses, const DetailLimits& limits, const DetailTimes& times)
    : store_(store), losses_(losses), limits_(limits), times_(times) {
  holding().set(0);
}

bool DetailPools::has_room(uid_t user, uint32_t chunks) const {
  auto found = users_.find(user);
  Held held = found == users_.end() ? Held{} : found->second;
  return all_.pools < limits_.most_pools && all_.chunks + chunks <= limits_.most_chunks &&
         held.pools < limits_.most_pools_per_user && held.chunks + chunks <= limits_.most_chunks_per_user;
}

bool DetailPools::make_room(uid_t user, uint32_t chunks) {
  while (!has_room(user, chunks)) {
    auto oldest = longest_ended(user);
    if (oldest == pools_.end()) return false;
    losses_.detail_pools.add();
    let_go(oldest);
  }
  return true;
}

std::shared_ptr<DetailPool> DetailPools::make(const ProgramId& id, DetailFile file) {
  uint32_t chunks = file.shape().chunks();
  auto made = std::make_shared<DetailPool>(id, std::move(file), now_monotonic_nano());
  pools_.emplace(id.key, made);
  for (Held* held : {&users_[id.uid], &all_}) {
    ++held->pools;
    held->chunks += chunks;
  }
  holding().set(static_cast<int64_t>(pools_.size()));
  return made;
}

bool DetailPools::adopt(const std::string& name, Fd descriptor) {
  std::optional<ProgramId> id = ProgramId::of_store_name(name, ProgramId::kDetail);
  if (!id) return false;
  Result<DetailFile> file = DetailFile::open(std::move(descriptor), 0);
  // One of a version that a later agent stored: a later agent may be our successor.
  if (!file && file.error().code == ErrorCode::kUnsupported) return true;
  if (!file || key_of(*file) != id->key || pools_.contains(id->key)) {
    store_.remove(name);
    return false;
  }
  if (!has_room(id->uid, file->shape().chunks())) {
    losses_.no_room_pools.add();
    store_.remove(name);
    return false;
  }
  make(*id, *std::move(file));
  return true;
}

pool::Verdict DetailPools::offered(ConnectionId connection, const Peer& peer, Fd descriptor, uint64_t pool_bytes) {
  Result<DetailFile> file = DetailFile::open(std::move(descriptor), pool_bytes);
  if (!file) {
    bool version = file.error().code == ErrorCode::kUnsupported;
    return version ? pool::Verdict::kVersion : pool::Verdict::kInvalid;
  }
  PoolKey key = key_of(*file);
  auto known = pools_.find(key);
  if (known != pools_.end() && known->second->id().uid != peer.uid) return pool::Verdict::kInvalid;
  std::shared_ptr<DetailPool> taken = known == pools_.end() ? nullptr : known->second;
  if (!taken) {
    if (!make_room(peer.uid, file->shape().chunks())) return pool::Verdict::kTooMany;
    taken = make({.uid = peer.uid, .process = peer.process, .key = key}, *std::move(file));
    store_.store(taken->stored_name(), taken->file().memory().descriptor());
  }
  connections_[connection] = key;
  taken->connected(connection, peer);
  return pool::Verdict::kTaken;
}

void DetailPools::closed(ConnectionId connection) {
  auto found = connections_.find(connection);
  if (found == connections_.end()) return;
  auto at = pools_.find(found->second);
  connections_.erase(found);
  if (at != pools_.end()) at->second->disconnected(connection, now_monotonic_nano());
}

void DetailPools::tick(uint64_t now_nano, const DetailPool::FindProgram& find) {
  for (auto at = pools_.begin(); at != pools_.end();) {
    auto next = std::next(at);
    DetailPool& pool = *at->second;
    pool.look(now_nano, times_, find);
    pool.count_losses(now_nano, losses_);
    if (pool.ended() && now_nano - pool.ended_since_nano() >= times_.keep_nano) let_go(at);
    at = next;
  }
  limit_ended();
}

void DetailPools::limit_ended() {
  uint64_t bytes = 0;
  std::map<uid_t, uint64_t> of_users;
  for (const auto& [key, pool] : pools_) {
    if (!pool->ended()) continue;
    uint64_t held = pool->held_bytes();
    bytes += held;
    of_users[pool->id().uid] += held;
  }
  if (bytes <= limits_.most_bytes_of_ended) return;
  auto holds_less = [](const auto& one, const auto& other) { return one.second < other.second; };
  losses_.detail_pools.add();
  let_go(longest_ended(std::max_element(of_users.begin(), of_users.end(), holds_less)->first));
}

DetailPools::Pools::iterator DetailPools::longest_ended(uid_t of_user) {
  auto oldest = pools_.end();
  for (auto at = pools_.begin(); at != pools_.end(); ++at) {
    if (!at->second->ended() || at->second->id().uid != of_user) continue;
    bool older = oldest == pools_.end() || at->second->ended_since_nano() < oldest->second->ended_since_nano();
    if (older) oldest = at;
  }
  return oldest;
}

// Its connections stay: they are those of the span pool too.
void DetailPools::let_go(Pools::iterator at) {
  const DetailPool& pool = *at->second;
  uint32_t chunks = pool.file().shape().chunks();
  auto user = users_.find(pool.id().uid);
  for (Held* held : {&user->second, &all_}) {
    --held->pools;
    held->chunks -= chunks;
  }
  if (user->second.pools == 0) users_.erase(user);
  store_.remove(pool.stored_name());
  for (ConnectionId connection : pool.connections()) connections_.erase(connection);
  pools_.erase(at);
  holding().set(static_cast<int64_t>(pools_.size()));
}

void DetailPools::for_each(const std::function<void(const std::shared_ptr<DetailPool>&)>& visit) const {
  for (const auto& [key, pool] : pools_) visit(pool);
}

std::function<void()> DetailPools::losses_told() const {
  std::vector<std::pair<std::weak_ptr<DetailPool>, LossMarks::Counts>> counted;
  for (const auto& [key, pool] : pools_) {
    if (!pool->marks().all_told()) counted.emplace_back(pool, pool->marks().counted());
  }
  return [counted = std::move(counted)] {
    for (const auto& [weak, losses] : counted) {
      if (std::shared_ptr<DetailPool> pool = weak.lock()) pool->mark_told(losses);
    }
  };
}

}  // namespace fathom::agent
