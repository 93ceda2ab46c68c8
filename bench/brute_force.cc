#include "bench/brute_force.h"

#include <algorithm>
#include <queue>

namespace fathom::bench {

namespace {

bool comes_before(const ExpectedTrace& a, const ExpectedTrace& b) {
  if (a.duration_nano != b.duration_nano) return a.duration_nano > b.duration_nano;
  if (a.start_unix_nano != b.start_unix_nano) return a.start_unix_nano < b.start_unix_nano;
  return a.facts().trace_id() < b.facts().trace_id();
}

bool matches(const TraceTable& table, uint64_t index, const Question& question) {
  return (!question.canary || table.canary(index)) && (!question.route || table.route(index) == *question.route);
}

// The best `limit` so far; its top is the worst of them.
class Best {
 public:
  explicit Best(size_t limit) : limit_(limit) {}
  bool may_enter(uint64_t duration_nano) const {
    return queue_.size() < limit_ || duration_nano >= queue_.top().duration_nano;
  }
  void add(const ExpectedTrace& trace) {
    queue_.push(trace);
    if (queue_.size() > limit_) queue_.pop();
  }
  std::vector<ExpectedTrace> sorted() {
    std::vector<ExpectedTrace> all;
    for (; !queue_.empty(); queue_.pop()) all.push_back(queue_.top());
    std::reverse(all.begin(), all.end());
    return all;
  }

 private:
  size_t limit_;
  std::priority_queue<ExpectedTrace, std::vector<ExpectedTrace>, decltype(&comes_before)> queue_{&comes_before};
};

}  // namespace

TraceTable::TraceTable(const Workload& workload, uint64_t count) : workload_(workload) {
  starts_.reserve(count);
  durations_.reserve(count);
  flags_.reserve(count);
  for (uint64_t index = 0; index < count; ++index) add(index);
}

void TraceTable::add(uint64_t index) {
  TraceFacts facts = workload_.facts(index);
  SpanTimes root = workload_.root_times(facts);
  starts_.push_back(root.start_unix_nano);
  durations_.push_back(root.duration_nano());
  flags_.push_back(static_cast<uint8_t>(facts.route | (facts.tier == Tier::kCanary ? kCanaryFlag : 0)));
}

uint64_t TraceTable::lower_bound(uint64_t unix_nano) const {
  return static_cast<uint64_t>(std::lower_bound(starts_.begin(), starts_.end(), unix_nano) - starts_.begin());
}

std::vector<ExpectedTrace> BruteForce::slowest(const Question& question, size_t limit) const {
  Best best(limit);
  for (const TraceTable* table : tables_) {
    uint64_t end = table->lower_bound(question.to_unix_nano);
    for (uint64_t index = table->lower_bound(question.from_unix_nano); index < end; ++index) {
      uint64_t duration = table->duration_nano(index);
      if (!best.may_enter(duration) || !matches(*table, index, question)) continue;
      best.add({table, index, table->start_unix_nano(index), duration});
    }
  }
  return best.sorted();
}

}  // namespace fathom::bench
