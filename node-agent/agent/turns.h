// Turns: who is read next: one user after the other, and of each one program after the other.
//
// Purpose: however many pools a user has, others wait for one of them at most. Thread safety: none. Ownership: none:
// who waits may be let go meanwhile, with all of its memory, also while nobody has a turn.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>

namespace fathom::agent {

template <typename Waiter>
class Turns {
 public:
  bool empty() const { return order_.empty(); }
  void add(uid_t user, const std::shared_ptr<Waiter>& waiter) {
    auto [waiting, is_new] = waiting_.try_emplace(user);
    Queue& queue = waiting->second;
    if (queue.size() % kForgetEvery == kForgetEvery - 1) forget_gone(queue);
    queue.push_back(waiter);
    if (!is_new) return;
    if (order_.size() % kForgetEvery == kForgetEvery - 1) forget_users();
    order_.push_back(user);
  }
  // Goes on to a user who may have the turn; false when nobody may.
  template <typename MayHave>
  bool turn_to(MayHave&& may_have) {
    for (size_t users = order_.size(); users > 0; --users) {
      if (may_have(order_.front())) return true;
      order_.push_back(order_.front());
      order_.pop_front();
    }
    return false;
  }
  // Null when it has been let go; its turn is still to be popped.
  std::shared_ptr<Waiter> next() const { return waiting_.at(order_.front()).front().lock(); }
  size_t waiting() const {
    size_t count = 0;
    for (const auto& [user, queue] : waiting_) count += queue.size();
    return count;
  }
  // Its turn is over, and its user's.
  void pop() {
    auto waiting = waiting_.find(order_.front());
    order_.pop_front();
    waiting->second.pop_front();
    if (waiting->second.empty()) {
      waiting_.erase(waiting);
    } else {
      order_.push_back(waiting->first);
    }
  }

 private:
  using Queue = std::deque<std::weak_ptr<Waiter>>;
  static constexpr size_t kForgetEvery = 64;

  // All but the first, whose turn may be under way.
  static void forget_gone(Queue& queue) {
    auto gone = [](const std::weak_ptr<Waiter>& waiter) { return waiter.expired(); };
    queue.erase(std::remove_if(queue.begin() + 1, queue.end(), gone), queue.end());
  }

  // Likewise, of users all of whose waiters are gone.
  void forget_users() {
    auto gone = [this](uid_t user) {
      auto waiting = waiting_.find(user);
      auto expired = [](const std::weak_ptr<Waiter>& waiter) { return waiter.expired(); };
      bool all = std::all_of(waiting->second.begin(), waiting->second.end(), expired);
      if (all) waiting_.erase(waiting);
      return all;
    };
    order_.erase(std::remove_if(order_.begin() + 1, order_.end(), gone), order_.end());
  }

  std::map<uid_t, Queue> waiting_;
  std::deque<uid_t> order_;  // of those who wait, each once
};

}  // namespace fathom::agent
