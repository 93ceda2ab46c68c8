// Watchers: who is told that something is known anew, such as tokens or CAs, by which they let somebody in before.
//
// Thread safety: all of it; they are told on the thread of tell(), without a lock. Ownership: whoever drops its watch
// is told no more; what it is called with must live until then, and until a tell() under way in another thread has
// ended.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace fathom::net {

class Watchers {
 public:
  using Told = std::function<void()>;
  using Watch = std::shared_ptr<const Told>;

  [[nodiscard]] Watch add(Told told) {
    auto watch = std::make_shared<const Told>(std::move(told));
    std::lock_guard lock(mutex_);
    watches_.push_back(watch);
    return watch;
  }
  void tell() {
    for (const Watch& watch : watching()) (*watch)();
  }

 private:
  std::vector<Watch> watching() {
    std::lock_guard lock(mutex_);
    std::erase_if(watches_, [](const auto& watch) { return watch.expired(); });
    std::vector<Watch> all;
    for (const auto& one : watches_) {
      if (auto watch = one.lock()) all.push_back(std::move(watch));
    }
    return all;
  }

  std::mutex mutex_;
  std::vector<std::weak_ptr<const Told>> watches_;
};

}  // namespace fathom::net
