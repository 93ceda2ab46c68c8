// MapReader: reads other processes' memory maps, away from the loop.
//
// Purpose: /proc/PID/maps waits for whoever holds that process's map, and a stranger can hold its own for as long as it
// likes. One map is read at a time. Thread safety: one thread calls. Ownership: of its thread, which may outlive it
// while it waits. Errors: in the answer. Units: nanoseconds of the monotonic clock.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace fathom::agent {

class MapReader {
 public:
  static constexpr uint64_t kStuckNano = 5'000'000'000;
  using Look = std::function<std::optional<bool>(pid_t pid, uint64_t inode)>;
  // Whether the process maps the file; nothing when that cannot be known.
  using Done = std::function<void(std::optional<bool> maps)>;

  // `look`: maps_inode(), or a test's.
  explicit MapReader(Look look);

  bool idle() const { return !done_; }
  // Whoever is asked for now keeps all others waiting.
  bool stuck(uint64_t now_nano) const { return !idle() && now_nano - asked_nano_ > kStuckNano; }
  void ask(pid_t pid, uint64_t inode, uint64_t now_nano, Done done);  // when idle
  void poll();                                                        // calls `done`, once the answer is there

 private:
  struct Answer;
  const Look look_;
  Done done_;
  uint64_t asked_nano_ = 0;
  std::shared_ptr<Answer> answer_;
};

}  // namespace fathom::agent
