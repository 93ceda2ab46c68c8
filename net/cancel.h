// CancelSignal: "the asker has gone", raised once by the server and heard by whoever works for that asker.
//
// Thread safety: all of it. A listener is called once, on the thread that raises, or at once when it is already raised;
// it must not block. Ownership: listeners live until they were called or the signal dies, so they hold weak references.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace fathom::net {

class CancelSignal {
 public:
  void raise() {
    std::vector<std::function<void()>> listeners;
    {
      std::lock_guard lock(mutex_);
      flag.store(true);
      listeners.swap(listeners_);
    }
    for (auto& listener : listeners) listener();
  }

  void on_raise(std::function<void()> listener) {
    {
      std::lock_guard lock(mutex_);
      if (!flag.load()) {
        listeners_.push_back(std::move(listener));
        return;
      }
    }
    listener();
  }

  std::atomic<bool> flag{false};

 private:
  std::mutex mutex_;
  std::vector<std::function<void()>> listeners_;
};

}  // namespace fathom::net
