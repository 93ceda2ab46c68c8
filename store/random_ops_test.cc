// The comparison of random sequences: equal stores pass, and every kind of wrong answer is caught.
#include "store/testing/random_ops.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "store/model/memory_store.h"

namespace fathom::store::testing {
namespace {

TEST(RandomOps, TheModelEqualsItself) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    std::optional<std::string> difference = compare_stores(model_factory(), model_factory(), seed, 150);
    ASSERT_FALSE(difference) << *difference;
  }
}

TEST(RandomOps, ASequenceDependsOnItsSeedAlone) {
  std::vector<Operation> once = random_operations(5, 80), again = random_operations(5, 80);
  std::vector<Operation> other = random_operations(6, 80);
  bool differs = false;
  for (size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].text, again[i].text);
    differs |= once[i].text != other[i].text;
  }
  EXPECT_TRUE(differs);
}

// A store that is wrong in one small way.
enum class Fault {
  kRowLost,
  kTiesSwapped,
  kTraceCount,
  kConflictUnflagged,
  kHistogram,
  kPageRepeats,
  kDuplicateStored,
  kDropsNothing,
  kLatencyShifted,
  kKeyLost,
  kValueLost,
  kFindUnordered,
  kTimeLost,
  kTooFewAtMost,
  kSampleForeign,
  kSampleTooLarge,
  kCallMiscounted,
  kTracePageLacksSpan,
  kTooFewSpansAtMost,
  kOversizedUnmarked,
};

class FaultyStore : public MemoryStore {
 public:
  FaultyStore(MemoryOptions options, Fault fault) : MemoryStore(std::move(options)), fault_(fault) {}

  void append(BatchPtr batch, std::function<void(AppendResult)> done) override {
    MemoryStore::append(std::move(batch), [&](AppendResult result) {
      if (fault_ == Fault::kDuplicateStored) result.duplicate = false;
      done(std::move(result));
    });
  }
  Result<SlowPage> slowest(const Filter& filter, By by, size_t limit, const std::optional<Cursor>& cursor,
                           QueryBudget& budget) override {
    std::optional<Cursor> from = cursor;
    if (from && fault_ == Fault::kPageRepeats) ++from->last.duration_nano;
    Result<SlowPage> page = MemoryStore::slowest(filter, by, limit, from, budget);
    if (page) spoil(page->rows);
    return page;
  }
  Result<std::vector<SlowRow>> find(const Filter& filter, By by, size_t limit, QueryBudget& budget) override {
    Result<std::vector<SlowRow>> rows = MemoryStore::find(filter, by, limit, budget);
    if (fault_ == Fault::kFindUnordered && rows->size() > 2) std::swap((*rows)[0], (*rows)[2]);
    return rows;
  }
  Result<StoredTrace> trace_page(const TraceId& id, const std::optional<TraceCursor>& after, size_t limit,
                                 QueryBudget& budget) override {
    Result<StoredTrace> trace = MemoryStore::trace_page(id, after, limit, budget);
    if (trace && fault_ == Fault::kTracePageLacksSpan && trace->next && trace->spans.size() > 1)
      trace->spans.pop_back();
    if (trace && fault_ == Fault::kTooFewSpansAtMost && trace->oversized) trace->spans_at_most = 1;
    if (!trace || fault_ != Fault::kConflictUnflagged) return trace;
    for (StoredSpan& span : trace->spans) span.conflicting = false;
    return trace;
  }
  Result<std::vector<OperationStats>> operations(const TimeRange& range, const std::optional<std::string>& service,
                                                 QueryBudget& budget) override {
    Result<std::vector<OperationStats>> stats = MemoryStore::operations(range, service, budget);
    if (fault_ == Fault::kHistogram && !stats->empty()) stats->back().durations.record(1);
    return stats;
  }
  Result<std::vector<LatencyPoint>> latency(const TimeRange& range, const std::optional<std::string>& service,
                                            const std::optional<std::string>& operation, uint64_t step_nano,
                                            QueryBudget& budget) override {
    Result<std::vector<LatencyPoint>> points = MemoryStore::latency(range, service, operation, step_nano, budget);
    if (fault_ == Fault::kLatencyShifted && !points->empty()) points->front().start_unix_nano += kNanosPerMinute;
    return points;
  }
  Result<std::vector<std::string>> attribute_keys(const TimeRange& range, QueryBudget& budget) override {
    Result<std::vector<std::string>> keys = MemoryStore::attribute_keys(range, budget);
    if (fault_ == Fault::kKeyLost && !keys->empty()) keys->pop_back();
    return keys;
  }
  Result<std::vector<ValueCount>> attribute_values(const TimeRange& range, const std::string& key,
                                                   const std::string& containing, size_t limit,
                                                   QueryBudget& budget) override {
    Result<std::vector<ValueCount>> values = MemoryStore::attribute_values(range, key, containing, limit, budget);
    if (fault_ == Fault::kValueLost && !values->empty()) values->pop_back();
    return values;
  }
  Result<> visit_times(const Filter& filter, const VisitTimes& visit, QueryBudget& budget) override {
    Filter less = filter;
    if (fault_ == Fault::kTimeLost && less.range.from_unix_nano > 0) ++less.range.from_unix_nano;
    return MemoryStore::visit_times(less, visit, budget);
  }
  Result<uint64_t> spans_at_most(const TimeRange& range, QueryBudget& budget) override {
    Result<uint64_t> most = MemoryStore::spans_at_most(range, budget);
    if (fault_ == Fault::kTooFewAtMost && *most > 0) --*most;
    return most;
  }
  Result<SampleCount> sample(const Filter& filter, const SampleLimits& limits, const VisitSpan& visit,
                             QueryBudget& budget) override {
    Filter more = filter;
    if (fault_ == Fault::kSampleForeign && limits.shown < 100) more.errors = false;
    SampleLimits other = limits;
    if (fault_ == Fault::kSampleTooLarge) ++other.shown;
    return MemoryStore::sample(more, other, visit, budget);
  }
  Result<CallSample> calls(const TimeRange& range, uint64_t most_spans, QueryBudget& budget) override {
    Result<CallSample> sample = MemoryStore::calls(range, most_spans, budget);
    if (fault_ == Fault::kCallMiscounted && !sample->edges.empty()) ++sample->edges.back().errors;
    return sample;
  }
  Result<> drop_before(uint64_t received_unix_nano) override {
    return fault_ == Fault::kDropsNothing ? Result<>() : MemoryStore::drop_before(received_unix_nano);
  }

 private:
  void spoil(std::vector<SlowRow>& rows) const {
    if (fault_ == Fault::kRowLost && rows.size() > 20) rows.erase(rows.begin() + 10);
    if (fault_ == Fault::kTraceCount && !rows.empty()) ++rows.back().spans;
    for (SlowRow& row : rows) row.oversized = row.oversized && fault_ != Fault::kOversizedUnmarked;
    for (size_t i = 1; fault_ == Fault::kTiesSwapped && i < rows.size(); ++i) {
      if (rows[i - 1].duration_nano == rows[i].duration_nano) std::swap(rows[i - 1], rows[i]);
    }
  }

  const Fault fault_;
};

class FaultyHarness : public Harness {
 public:
  FaultyHarness(const HarnessOptions& options, Fault fault)
      : store_({options.operations_per_service, options.trace_spans, clock()}, fault) {}
  SpanStore& store() override { return store_; }
  void reopen() override {}

 private:
  FaultyStore store_;
};

StoreFactory faulty_factory(Fault fault) {
  return {"Faulty", [fault](const HarnessOptions& options) { return std::make_unique<FaultyHarness>(options, fault); }};
}

TEST(RandomOps, EveryFaultIsCaught) {
  for (int fault = 0; fault <= static_cast<int>(Fault::kOversizedUnmarked); ++fault) {
    bool caught = false;
    for (uint64_t seed = 1; seed <= 24 && !caught; ++seed) {
      caught = compare_stores(model_factory(), faulty_factory(static_cast<Fault>(fault)), seed, 150).has_value();
    }
    EXPECT_TRUE(caught) << "fault " << fault;
  }
}

TEST(RandomOps, AFailingSequenceIsShortened) {
  std::optional<std::string> difference = compare_stores(model_factory(), faulty_factory(Fault::kHistogram), 1, 150);
  ASSERT_TRUE(difference);
  EXPECT_NE(difference->find("seed 1"), std::string::npos);
  // Something stored, and the question: no more is needed.
  EXPECT_NE(difference->find("\n1. operations"), std::string::npos) << *difference;
  EXPECT_EQ(difference->find("\n2. "), std::string::npos) << *difference;
}

}  // namespace
}  // namespace fathom::store::testing
