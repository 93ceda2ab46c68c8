// The small world from which random sequences draw their spans and filters.
//
// Purpose: few values of everything, so that most draws collide with earlier ones. Thread safety: none.
#pragma once

#include <initializer_list>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "store/span_store.h"
#include "store/testing/span_builder.h"

namespace fathom::store::testing {

class RandomInput {
 public:
  // `unique`: no two spans have one id, and so no two rows are alike.
  explicit RandomInput(uint64_t seed, bool unique = false) : random_(seed), unique_(unique) {}

  uint64_t below(uint64_t limit) { return random_() % limit; }
  bool chance(uint64_t percent) { return below(100) < percent; }
  template <typename T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }

  std::vector<TraceId> trace_ids();
  Condition condition();  // that does not ask for one value
  TraceId trace_id() { return test_trace_id(1 + below(14)); }
  uint64_t time();
  uint64_t duration();
  TestSpan span();
  // Some are of rows that an earlier batch had.
  std::vector<TestSpan> spans();
  void forget_earlier() { earlier_.clear(); }
  std::optional<ClockOffset> clock();
  TimeRange range();
  std::optional<std::string> service();
  std::optional<std::string> operation();
  Filter filter();
  size_t limit() { return pick<size_t>({0, 1, 2, 3, 5, 10, 64, 65, 1000, SIZE_MAX}); }

 private:
  void add_attributes(TestSpan& span);
  void add_rare_parts(TestSpan& span);
  void spoil_clock(TestSpan& span);

  void identify(TestSpan& span);

  std::mt19937_64 random_;
  const bool unique_;
  uint64_t spans_ = 0;
  std::map<TraceId, std::vector<SpanId>> ids_;  // where they are unique
  std::vector<TestSpan> earlier_;
  uint64_t batches_ = 0;
};

}  // namespace fathom::store::testing
