#include "node-agent/socket/disposal.h"

#include <deque>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace fathom::agent {

struct Disposal::Lanes {
  const std::function<void(Fd)> close;
  std::mutex mutex;
  std::map<uid_t, std::deque<Fd>> of_user;  // there while its thread is
  size_t waiting = 0;
};

Disposal::Disposal(size_t most_waiting, std::function<void(Fd)> close)
    : most_waiting_(most_waiting), lanes_(new Lanes{.close = std::move(close)}) {}

size_t Disposal::waiting() const {
  std::lock_guard lock(lanes_->mutex);
  return lanes_->waiting;
}

bool Disposal::has_room_for(uid_t user) const {
  std::lock_guard lock(lanes_->mutex);
  auto lane = lanes_->of_user.find(user);
  // One more than wait in it: its thread is closing that.
  return lane == lanes_->of_user.end() || (lane->second.size() + 1) * kSharesOfAll <= most_waiting_;
}

void Disposal::take(uid_t of_user, Fd descriptor) {
  std::lock_guard lock(lanes_->mutex);
  auto [lane, is_new] = lanes_->of_user.try_emplace(of_user);
  lane->second.push_back(std::move(descriptor));
  ++lanes_->waiting;
  if (!is_new) return;
  try {
    std::thread(work, lanes_, of_user).detach();
  } catch (const std::system_error&) {
    // A host without room for a thread: better a close that may wait than a descriptor that stays.
    auto node = lanes_->of_user.extract(lane);
    for (Fd& left : node.mapped()) lanes_->close(std::move(left));
    lanes_->waiting -= node.mapped().size();
  }
}

void Disposal::work(const std::shared_ptr<Lanes>& lanes, uid_t of_user) {
  std::unique_lock lock(lanes->mutex);
  auto lane = lanes->of_user.find(of_user);
  while (!lane->second.empty()) {
    Fd descriptor = std::move(lane->second.front());
    lane->second.pop_front();
    lock.unlock();
    lanes->close(std::move(descriptor));
    lock.lock();
    --lanes->waiting;
  }
  lanes->of_user.erase(lane);
}

}  // namespace fathom::agent
