// Disposal: closes what strangers handed over, away from the loop.
//
// Purpose: the last close of a descriptor can wait for its maker: for the peer of a TCP connection that lingers, for
// the daemon of a FUSE file; and so can that of a unix socket with such descriptors in messages that nobody read. Each
// user's are closed one after the other by a thread of its own, so who makes one wait keeps back nobody else's. Bounds:
// ask has_room() before taking more from anybody, and has_room_for() before taking more from a user, whose share is a
// part of the whole. Neither is a promise: what has come must be closed, also beyond it. Thread safety: one thread
// calls. Ownership: of the descriptors; what still waits at the end of this is closed all the same, or ends with the
// process.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>

#include "base/fd.h"

namespace fathom::agent {

class Disposal {
 public:
  static constexpr size_t kSharesOfAll = 4;  // so many users together may use up what there is

  // `close`, for tests: what may take its time.
  explicit Disposal(
      size_t most_waiting, std::function<void(Fd)> close = [](Fd descriptor) { descriptor.close(); });

  void take(uid_t of_user, Fd descriptor);
  bool has_room() const { return waiting() < most_waiting_; }
  bool has_room_for(uid_t user) const;
  size_t waiting() const;  // not closed yet

 private:
  struct Lanes;
  static void work(const std::shared_ptr<Lanes>& lanes, uid_t of_user);

  const size_t most_waiting_;
  std::shared_ptr<Lanes> lanes_;  // threads that wait in a close outlive us
};

}  // namespace fathom::agent
