// Index values from bytes that nobody vouches for: what decodes keeps its invariants, alone and merged.
//
// Input: one byte that says which kind, two that say how long the first value is (little-endian), then two values.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>

#include "store/index/latency_cell.h"
#include "store/index/slow_list.h"

namespace fathom::store {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

template <typename T>
void expect_comes_back(const T& value) {
  std::string bytes;
  value.encode(bytes);
  Result<T> again = T::decode(bytes);
  require(again.ok() && *again == value);
}

void check(const Histogram& histogram) {
  uint64_t previous = 0;
  for (double q : {0.0, 0.5, 0.99, 1.0}) {
    uint64_t value = histogram.quantile_nano(q);
    require(value >= previous && value <= histogram.max_nano());
    previous = value;
  }
}

void check(const LatencyCell& cell) {
  require(cell.errors <= cell.durations.count());
  check(cell.durations);
  expect_comes_back(cell);
}

void check(const SlowList& list) {
  require(list.entries.size() <= SlowList::kCapacity);
  require(list.truncated || list.floor_nano == 0);
  std::set<TraceId> traces;
  for (size_t i = 0; i < list.entries.size(); ++i) {
    if (i > 0) require(slower(list.entries[i - 1].key(), list.entries[i].key()));
    if (list.entries[i].span_id.is_zero()) require(traces.insert(list.entries[i].trace_id).second);
  }
  expect_comes_back(list);
}

// Adding entries one by one must say the same as merging the list.
void expect_same_entries(SlowList a, const SlowList& b, const SlowList& merged) {
  for (const SlowEntry& entry : b.entries) a.add(entry);
  require(a.entries == merged.entries);
}
void expect_same_entries(const LatencyCell&, const LatencyCell&, const LatencyCell&) {}

template <typename T>
void run(std::string_view first, std::string_view second) {
  Result<T> a = T::decode(first);
  if (!a.ok()) return;
  check(*a);
  Result<T> b = T::decode(second);
  if (!b.ok()) return;
  T merged = *a;
  merged.merge(*b);
  check(merged);
  expect_same_entries(*a, *b, merged);
}

void run_histogram(std::string_view in) {
  Result<Histogram> histogram = Histogram::decode(in);
  if (histogram.ok()) check(*histogram);
}

}  // namespace
}  // namespace fathom::store

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  std::string_view rest(reinterpret_cast<const char*>(data + 3), size - 3);
  size_t split = std::min<size_t>(data[1] | data[2] << 8, rest.size());
  if (data[0] % 3 == 0) fathom::store::run<fathom::store::SlowList>(rest.substr(0, split), rest.substr(split));
  if (data[0] % 3 == 1) fathom::store::run<fathom::store::LatencyCell>(rest.substr(0, split), rest.substr(split));
  if (data[0] % 3 == 2) fathom::store::run_histogram(rest);
  return 0;
}
