// SlowList: the slowest spans or traces of one cell of time, and the floor below them.
//
// Purpose: "the slowest of this hour" is answered from a few dozen of these. Whatever is *longer than the floor* is in
// the list; what is exactly as long as the floor may be missing, so a query trusts entries above the floor and reads
// blocks for the rest. A list that is not truncated holds everything.
// What counts as one: in lists of spans (span_id set) entries with equal sort keys collapse: the earliest reception
// stands, and an error of either. In lists of traces (span_id zero) also the entries of one trace collapse: the later
// stands. That is the longer one, because traces grow; but a trace that lost its first spans to retention has a greater
// first_sequence, and that decides. `operation` is that of the entry received first among equals.
// Invariants: at most kCapacity entries, slowest first (store::slower), none collapsible. Units: in names.
// Thread safety: a plain value. Errors: decode treats its input as hostile.
// Source of the idea: the threshold algorithms for top-k answers (Fagin, Lotem, Naor, PODS 2001).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "store/span_store.h"

namespace fathom::store {

struct SlowEntry {
  uint64_t duration_nano = 0;
  uint64_t start_unix_nano = 0;  // corrected
  TraceId trace_id;
  SpanId span_id;  // zero in lists of traces
  uint64_t first_sequence = 0;
  uint32_t operation = 0;  // catalogue id
  bool error = false;

  SortKey key() const { return {duration_nano, start_unix_nano, trace_id, span_id}; }
  bool operator==(const SlowEntry&) const = default;
};

struct SlowList {
  static constexpr size_t kCapacity = 64;

  std::vector<SlowEntry> entries;
  uint64_t floor_nano = 0;  // nothing that is not listed is longer; 0 while !truncated
  bool truncated = false;   // there is something that is not listed

  // From candidates in any order.
  static SlowList of(std::span<const SlowEntry> candidates);

  // One candidate more; mostly one comparison, once the list is full.
  void add(const SlowEntry& entry);
  void merge(const SlowList& other);
  // Something of this length may exist and is not listed; UINT64_MAX when nothing at all is known about it.
  void raise_floor(uint64_t duration_nano);

  void encode(std::string& out) const;  // docs/formats/index.md
  static Result<SlowList> decode(std::string_view in);

  bool operator==(const SlowList&) const = default;
};

// slower() on entries, without copying keys in the usual case.
inline bool slower(const SlowEntry& a, const SlowEntry& b) {
  return a.duration_nano != b.duration_nano ? a.duration_nano > b.duration_nano : slower(a.key(), b.key());
}

}  // namespace fathom::store
