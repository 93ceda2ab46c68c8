// The best candidates of one scan of a Search, cut at some number.
#pragma once

#include <algorithm>
#include <vector>

#include "store/rocks/search.h"

namespace fathom::store {

// More than a page, so that the few candidates that turn out to be outdated seldom cost another scan.
inline constexpr size_t kScanSlack = 64;

class Search::Best {
 public:
  struct Found {
    SortKey rank;
    SlowEntry entry;
    bool check;
  };

  // Keeps `keep` candidates that come after `bound`; one exactly there has been found already. With `seen`: of each
  // trace the best alone, of those in `seen` none; what is left out so is no reason for another scan.
  Best(const SortKey& bound, size_t keep, const TraceIds* seen = nullptr) : bound_(bound), keep_(keep), seen_(seen) {}

  // Whether something of this rank could still be kept.
  bool may_keep(const SortKey& rank) const { return slower(bound_, rank) && (!worst_ || !slower(*worst_, rank)); }
  // Whether nothing whose rank begins with this number could still be kept.
  bool too_late(uint64_t leading) const { return worst_ && leading < worst_->duration_nano; }

  // What the leading number of a rank must be at least to be kept.
  uint64_t least() const { return worst_ ? worst_->duration_nano : 0; }

  void add(const SortKey& rank, const SlowEntry& entry, bool check) {
    if (!may_keep(rank) || (seen_ != nullptr && seen_->contains(entry.trace_id))) return;
    found_.push_back({rank, entry, check});
    if (found_.size() >= 2 * keep_) cut();
  }

  // Best first; at most `keep`.
  std::vector<Found>& finish() {
    sort();
    if (found_.size() > keep_) {
      found_.resize(keep_);
      truncated_ = true;
    }
    return found_;
  }
  bool truncated() const { return truncated_; }

 private:
  void sort() {
    std::sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) { return slower(a.rank, b.rank); });
    if (seen_ == nullptr) return;
    // What is equal to the best of its trace is one row with it.
    std::unordered_map<TraceId, SortKey, IdHash> first;
    std::erase_if(found_, [&](const Found& found) {
      if (seen_->contains(found.entry.trace_id)) return true;
      return first.try_emplace(found.entry.trace_id, found.rank).first->second != found.rank;
    });
  }
  void cut() {
    if (seen_ != nullptr) sort();
    if (found_.size() <= keep_) return;
    auto middle = found_.begin() + static_cast<ptrdiff_t>(keep_ - 1);
    std::nth_element(found_.begin(), middle, found_.end(),
                     [](const Found& a, const Found& b) { return slower(a.rank, b.rank); });
    found_.resize(keep_);
    worst_ = found_.back().rank;
    truncated_ = true;
  }

  const SortKey bound_;
  const size_t keep_;
  const TraceIds* const seen_;
  std::optional<SortKey> worst_;
  std::vector<Found> found_;
  bool truncated_ = false;
};

}  // namespace fathom::store
