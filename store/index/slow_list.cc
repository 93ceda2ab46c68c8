#include "store/index/slow_list.h"

#include <algorithm>
#include <cassert>

#include "store/index/distinct_traces.h"

namespace fathom::store {
namespace {

bool is_trace(const SlowEntry& entry) {
  return entry.span_id.is_zero();
}

// Of two entries of one trace. A trace grows; when it loses spans to retention, it loses those received first.
bool is_later(const SlowEntry& a, const SlowEntry& b) {
  return a.first_sequence != b.first_sequence ? a.first_sequence > b.first_sequence : slower(a, b);
}

// Of two entries with equal keys: what was received first, and whether any of them is an error.
void collapse(SlowEntry& kept, const SlowEntry& other) {
  if (is_trace(other) && other.first_sequence != kept.first_sequence) {
    if (is_later(other, kept)) kept = other;
    return;
  }
  bool error = kept.error || other.error;
  if (other.first_sequence < kept.first_sequence) kept = other;
  if (other.first_sequence == kept.first_sequence) kept.operation = std::min(kept.operation, other.operation);
  kept.error = error;
}

using EntryIterator = std::vector<SlowEntry>::iterator;

// The entry that stands for the same trace, when there is one.
EntryIterator find_trace(std::vector<SlowEntry>& entries, const TraceId& id) {
  return std::find_if(entries.begin(), entries.end(),
                      [&](const SlowEntry& entry) { return is_trace(entry) && entry.trace_id == id; });
}

// Takes candidates in the order of slower() and builds the list; false when it needs no more.
class Selection {
 public:
  // `most`: as many candidates come at most. A segment merges a list for each operation and minute.
  Selection(SlowList& out, size_t most) : out_(out), traces_(out.entries) {
    out_.entries.reserve(std::min(most, SlowList::kCapacity));
  }

  bool take(const SlowEntry& entry) {
    if (!out_.entries.empty() && out_.entries.back().key() == entry.key()) {
      collapse(out_.entries.back(), entry);
      return true;
    }
    if (is_trace(entry) && !traces_.insert(entry.trace_id) && !take_place(entry)) return true;
    if (out_.entries.size() == SlowList::kCapacity) {
      out_.raise_floor(entry.duration_nano);
      return false;
    }
    out_.entries.push_back(entry);
    return true;
  }

 private:
  // Removes the entry of the same trace if `entry` is the later one.
  bool take_place(const SlowEntry& entry) {
    auto same = find_trace(out_.entries, entry.trace_id);
    if (same == out_.entries.end() || !is_later(entry, *same)) return false;
    out_.entries.erase(same);
    return true;
  }

  SlowList& out_;
  DistinctTraces traces_;
};

}  // namespace

void SlowList::raise_floor(uint64_t duration_nano) {
  floor_nano = std::max(floor_nano, duration_nano);
  truncated = true;
}

SlowList SlowList::of(std::span<const SlowEntry> candidates) {
  SlowList list;
  list.entries.reserve(std::min(candidates.size(), kCapacity));
  for (const SlowEntry& entry : candidates) list.add(entry);
  return list;
}

void SlowList::add(const SlowEntry& entry) {
  bool full = entries.size() == kCapacity;
  // Below a floor that is known, one more changes nothing: it is the fast path of a long run of candidates.
  if (full && truncated && entry.duration_nano <= floor_nano && entry.duration_nano < entries.back().duration_nano) {
    return;
  }
  if (is_trace(entry)) {
    auto same = find_trace(entries, entry.trace_id);
    if (same != entries.end() && same->key() != entry.key()) {
      if (!is_later(entry, *same)) return;
      entries.erase(same);
      full = false;
    }
  }
  auto at = std::lower_bound(entries.begin(), entries.end(), entry,
                             [](const SlowEntry& a, const SlowEntry& b) { return slower(a, b); });
  if (at != entries.end() && at->key() == entry.key()) return collapse(*at, entry);
  if (full && at == entries.end()) return raise_floor(entry.duration_nano);
  if (full) {
    raise_floor(entries.back().duration_nano);
    entries.pop_back();
  }
  entries.insert(at, entry);
}

void SlowList::merge(const SlowList& other) {
  assert(this != &other);
  SlowList merged;
  Selection selection(merged, entries.size() + other.entries.size());
  auto a = entries.begin();
  auto b = other.entries.begin();
  bool wanted = true;
  while (wanted && (a != entries.end() || b != other.entries.end())) {
    bool first = b == other.entries.end() || (a != entries.end() && slower(*a, *b));
    wanted = selection.take(first ? *a++ : *b++);
  }
  if (truncated) merged.raise_floor(floor_nano);
  if (other.truncated) merged.raise_floor(other.floor_nano);
  *this = std::move(merged);
}

}  // namespace fathom::store
