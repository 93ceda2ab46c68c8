// LossList: the known losses of a store, by the key of their record in the default family.
//
// Purpose: keeps also the losses without lost batches, because they may have destroyed rows of captures.
// Thread safety: all methods. Ownership: owns its entries. Units: as LossRecord.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "store/rocks/loss_record.h"

namespace fathom::store {

class LossList {
 public:
  void add(const std::string& key, LossRecord record) {
    std::lock_guard lock(mutex_);
    records_[key] = std::move(record);
  }

  // In Unix time, by the wall clock as `time` knows it.
  std::vector<Loss> all(const AgeTime& time) const {
    std::lock_guard lock(mutex_);
    std::vector<Loss> all;
    for (const auto& [key, record] : records_) {
      for (Loss& loss : losses_of_record(record, time)) all.push_back(loss);
    }
    return all;
  }

  // Removes losses received up to this stamp; where Unix times do not agree with stamps, rather later. Returns the
  // changed records, each with the losses it keeps.
  std::map<std::string, LossRecord> forget_through(uint64_t received_nano, const AgeTime& time) {
    const uint64_t received_unix_nano =
        std::min(received_nano, time.unix_span(received_nano, received_nano).first_nano);
    std::lock_guard lock(mutex_);
    std::map<std::string, LossRecord> changed;
    for (auto& [key, record] : records_) {
      const uint64_t last = record.is_unix ? received_unix_nano : received_nano;
      const auto is_older = [&](const RecordedLoss& loss) { return loss.last_received_nano <= last; };
      if (std::erase_if(record.losses, is_older) > 0) changed[key] = record;
    }
    return changed;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, LossRecord> records_;
};

}  // namespace fathom::store
