#include "store/rocks/corrections.h"

#include <algorithm>

namespace fathom::store {

namespace {

bool is_longer(const Corrections::Entry& a, const Corrections::Entry& b) {
  return a.summary.duration_nano > b.summary.duration_nano;
}

}  // namespace

void Corrections::add(const TraceId& id, const TraceSummary& summary) {
  ++count_;
  entries_.push_back({id, summary});
  if (entries_.size() >= 2 * most_ + 1) cut();
}

void Corrections::cut() {
  if (entries_.size() <= most_) return;
  std::nth_element(entries_.begin(), entries_.begin() + static_cast<ptrdiff_t>(most_), entries_.end(), is_longer);
  entries_.resize(most_);
}

void Corrections::finish() {
  cut();
  entries_.shrink_to_fit();
  std::sort(entries_.begin(), entries_.end(), is_longer);
  if (!all_in_memory()) return;
  for (const Entry& entry : entries_) ids_.insert(entry.id);
}

}  // namespace fathom::store
