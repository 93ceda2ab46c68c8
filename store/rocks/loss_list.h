// LossList: the known losses of a store, by the key of their record in the default family.
//
// Thread safety: all methods. Ownership: owns its entries.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "store/span_store.h"

namespace fathom::store {

class LossList {
 public:
  void add(const std::string& key, const std::vector<Loss>& losses) {
    std::lock_guard lock(mutex_);
    for (const Loss& loss : losses) {
      if (loss.most_batches != 0) losses_[key].push_back(loss);
    }
  }

  std::vector<Loss> all() const {
    std::lock_guard lock(mutex_);
    std::vector<Loss> all;
    for (const auto& [key, losses] : losses_) all.insert(all.end(), losses.begin(), losses.end());
    return all;
  }

  // Removes losses received up to `received_unix_nano`. Returns the changed records, each with the losses it keeps.
  std::map<std::string, std::vector<Loss>> forget_through(uint64_t received_unix_nano) {
    std::lock_guard lock(mutex_);
    std::map<std::string, std::vector<Loss>> changed;
    for (auto& [key, losses] : losses_) {
      const size_t before = losses.size();
      std::erase_if(losses, [&](const Loss& loss) { return loss.last_received_unix_nano <= received_unix_nano; });
      if (losses.size() < before) changed[key] = losses;
    }
    return changed;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<Loss>> losses_;
};

}  // namespace fathom::store
