// Shares: how much of the way to the collector a user may fill while others have spans, too.
//
// Purpose: turns (turns.h) say who is read next, but what was read lies in one queue: whoever has many pools, all of
// them full, would have a batch of each before another user's next one. Alone, a user fills all there is. Thread
// safety: none. Errors: none. Units: nanoseconds of the monotonic clock.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>

namespace fathom::agent {

class Shares {
 public:
  static constexpr size_t kMostBatches = 2;  // of a user, under way at once, while another one is active
  static constexpr uint64_t kActiveNano = 1'000'000'000;

  bool may_send(uid_t user, uint64_t now_nano) {
    auto flow = flows_.find(user);
    return flow == flows_.end() || flow->second.under_way < kMostBatches || !others_active(user, now_nano);
  }
  void begin(uid_t user, uint64_t now_nano) {
    Flow& flow = flows_[user];
    ++flow.under_way;
    flow.active_until_nano = now_nano + kActiveNano;
  }
  void end(uid_t user) { --flows_.at(user).under_way; }
  size_t users() const { return flows_.size(); }

 private:
  struct Flow {
    size_t under_way = 0;
    uint64_t active_until_nano = 0;
  };

  bool others_active(uid_t user, uint64_t now_nano) {
    std::erase_if(flows_, [now_nano](const auto& entry) {
      return entry.second.under_way == 0 && entry.second.active_until_nano <= now_nano;
    });
    return flows_.size() > flows_.count(user);
  }

  std::map<uid_t, Flow> flows_;
};

}  // namespace fathom::agent
