// The part of Search that shows each trace once, by the first of its spans that match. A cursor says where the page
// before ended, and that is enough: a trace was shown by then if and only if a span of it that matches stands there or
// before. Scans see most of these spans as they go; of a trace whose spans they did not see, its own are looked at.
#include "store/rocks/search.h"
#include "store/rocks/search_best.h"

namespace fathom::store {

namespace {

constexpr size_t kMostRemembered = 1 << 18;  // of traces of earlier pages; beyond them each is looked up in its turn

}  // namespace

Search::Best Search::make_best(const SortKey& bound) const {
  return Best(bound, limit_ + kScanSlack, once_ ? &seen_ : nullptr);
}

// Of a span that matches.
void Search::offer_span(const SlowEntry& entry, Best& best) {
  in_bounds(entry) ? best.add(rank(entry), entry, false) : remember_shown(entry);
}

// Of a span that matches, and is not of this page.
void Search::remember_shown(const SlowEntry& entry) {
  if (once_ && fits(entry) && seen_.size() < kMostRemembered) seen_.insert(entry.trace_id);
}

Result<bool> Search::was_shown(const TraceId& id) {
  if (seen_.contains(id)) return true;
  if (!cursor_) return false;
  bool shown = false;
  // Slower than the end of the page before, so a block of faster spans has none of these.
  const LeastDuration least = [this] { return order_ == SearchOrder::kSlowest ? cursor_->last.duration_nano : 0; };
  Result<> looked = each_match(id, least, [&](const SlowEntry& entry) {
    shown = !is_of_this_page(entry);
    return !shown;
  });
  if (!looked) return looked.error();
  if (shown) seen_.insert(id);
  return shown;
}

}  // namespace fathom::store
