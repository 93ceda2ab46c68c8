// LookBudget: limits the time that the agent spends on reading thread ids from /proc, for all programs together.
//
// Purpose: a program with thousands of threads, or one that names threads it does not have, causes one look after
// another. Each round has a budget. The users whose programs need looks get equal shares of it; their number is the
// larger of this round's and the previous round's. A user's share is divided among the user's processes in the same
// way, because programs of different containers often have the same user. Thread safety: none. Errors: none. Units:
// nanoseconds of the monotonic clock.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

namespace fathom::agent {

class LookBudget {
 public:
  struct Limits {
    uint64_t round_nano = 50'000'000;
    uint64_t budget_nano = 500'000;  // of each round: 1 % of a processor
  };

  explicit LookBudget(const Limits& limits) : limits_(limits) {}

  // The time left in this round for a look at this process of this user; 0: none. Each process that is passed here
  // counts in the division of shares.
  uint64_t left_nano(uid_t user, pid_t process, uint64_t now_nano) {
    if (now_nano >= round_ends_nano_) begin_round(now_nano);
    User& its = users_[user];
    const uint64_t spent_nano = its.processes.try_emplace(process, 0).first->second;
    const uint64_t users_share_nano = limits_.budget_nano / std::max(processes_before_.size(), users_.size());
    const uint64_t share_nano = users_share_nano / std::max(processes_before(user), its.processes.size());
    return std::min({rest_of(share_nano, spent_nano), rest_of(users_share_nano, its.spent_nano),
                     rest_of(limits_.budget_nano, all_spent_nano_)});
  }
  // Records the time that a look took.
  void spend(uid_t user, pid_t process, uint64_t nano) {
    users_[user].processes[process] += nano;
    users_[user].spent_nano += nano;
    all_spent_nano_ += nano;
  }

 private:
  struct User {
    uint64_t spent_nano = 0;
    std::map<pid_t, uint64_t> processes;  // nanoseconds that looks at each process took
  };

  static uint64_t rest_of(uint64_t budget, uint64_t spent) { return budget > spent ? budget - spent : 0; }

  void begin_round(uint64_t now_nano) {
    round_ends_nano_ = now_nano + limits_.round_nano;
    processes_before_.clear();
    for (const auto& [user, its] : users_) processes_before_[user] = its.processes.size();
    users_.clear();
    all_spent_nano_ = 0;
  }
  size_t processes_before(uid_t user) const {
    const auto known = processes_before_.find(user);
    return known == processes_before_.end() ? 0 : known->second;
  }

  const Limits limits_;
  uint64_t round_ends_nano_ = 0;
  std::map<uid_t, size_t> processes_before_;  // of the previous round, by user
  std::map<uid_t, User> users_;               // of this round
  uint64_t all_spent_nano_ = 0;
};

}  // namespace fathom::agent
