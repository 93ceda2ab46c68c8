#include "store/testing/simulated_batches.h"

#include <algorithm>

#include "base/time.h"
#include "store/model/memory_store.h"
#include "store/testing/random_answers.h"

namespace fathom::store::testing {

namespace {

constexpr uint64_t kFirstMarker = 1001;  // RandomInput's
constexpr size_t kRows = 1000;

// Compares answers until one differs.
class Comparer {
 public:
  Comparer(SpanStore& model, SpanStore& store) : model_(model), store_(store) {}

  template <typename Ask>
  void compare(const std::string& what, const Ask& ask) {
    if (!result.difference.empty()) return;
    QueryBudget of_model, of_store;
    const auto answer = ask(store_, of_store);
    if (!answer && answer.error().code != ErrorCode::kNotFound) {
      ++result.unreadable;
      result.error = what + ": " + answer_text(answer);
      return;
    }
    const std::string expected = answer_text(ask(model_, of_model)), actual = answer_text(answer);
    if (expected == actual) return;
    result.difference = what + "\nexpected:\n" + expected + "\nactual:\n" + actual + "\n";
  }

  SimulatedBatches::Comparison result;

 private:
  SpanStore& model_;
  SpanStore& store_;
};

// Of all pages. Their cursors cannot be compared: the sequences of a store count lost and dropped batches, and those of
// the model do not.
Result<std::vector<SlowRow>> slowest(SpanStore& asked, const Filter& filter, By by, QueryBudget& budget) {
  std::vector<SlowRow> rows;
  std::optional<Cursor> cursor;
  do {
    Result<SlowPage> page = asked.slowest(filter, by, kRows, cursor, budget);
    if (!page) return page.error();
    rows.insert(rows.end(), page->rows.begin(), page->rows.end());
    cursor = page->next;
  } while (cursor);
  return rows;
}

void compare_random(Comparer& comparer, RandomInput& input) {
  for (By by : {By::kTrace, By::kSpan, By::kSpanOfTrace}) {
    const Filter filter = input.chance(30) ? Filter() : input.filter();
    comparer.compare("slowest " + filter_text(filter, by),
                     [&](SpanStore& asked, QueryBudget& budget) { return slowest(asked, filter, by, budget); });
    comparer.compare("find " + filter_text(filter, by),
                     [&](SpanStore& asked, QueryBudget& budget) { return asked.find(filter, by, kRows, budget); });
  }
  const TraceId id = input.trace_id();
  comparer.compare("trace", [&](SpanStore& asked, QueryBudget& budget) { return asked.trace(id, budget); });
}

}  // namespace

SentBatch& SimulatedBatches::make(const SimulatedTime& now) {
  BatchPtr batch = make_batch(input_.spans(), input_.clock());
  sent_.push_back({.batch = std::move(batch), .marker = kFirstMarker + sent_.size(), .made = now});
  return sent_.back();
}

SimulatedBatches::Presence SimulatedBatches::find(SpanStore& store) {
  Presence presence;
  for (SentBatch& sent : sent_) {
    QueryBudget budget;
    Result<StoredTrace> trace = store.trace(test_trace_id(sent.marker), budget);
    const bool is_missing = !trace && trace.error().code == ErrorCode::kNotFound;
    if (trace) {
      presence.stored.push_back(&sent);
      presence.repeated += trace->spans.size() > 1;
      if (sent.dropped) presence.fault = "a dropped batch is stored again: " + std::to_string(sent.marker);
    } else if (!is_missing) {
      presence.unreadable.push_back(&sent);
      presence.error = trace.error().message;
    } else if (sent.may_be_dropped) {
      sent.dropped = true;
    } else if (sent.must_be_stored()) {
      presence.missing.push_back(&sent);
    }
  }
  return presence;
}

SimulatedBatches::Comparison SimulatedBatches::compare(SpanStore& store, const Presence& presence,
                                                       uint64_t question) const {
  MemoryStore model;
  std::vector<const SentBatch*> expected = presence.stored;
  expected.insert(expected.end(), presence.unreadable.begin(), presence.unreadable.end());
  std::sort(expected.begin(), expected.end(),
            [](const SentBatch* a, const SentBatch* b) { return a->marker < b->marker; });
  uint64_t spans = 0;
  for (const SentBatch* sent : expected) {
    model.append(sent->batch, [](AppendResult) {});
    spans += sent->batch->rows().size();
  }
  Comparer comparer(model, store);
  comparer.result.is_possible = std::all_of(presence.unreadable.begin(), presence.unreadable.end(),
                                            [](const SentBatch* sent) { return sent->must_be_stored(); });
  if (!comparer.result.is_possible) return comparer.result;
  const uint64_t stored = store.stats().spans_stored;
  if (stored != spans) {
    comparer.result.difference = "spans: " + std::to_string(stored) + " stored, " + std::to_string(spans) + " expected";
  }
  comparer.compare("operations",
                   [](SpanStore& asked, QueryBudget& budget) { return asked.operations({}, std::nullopt, budget); });
  comparer.compare("latency", [](SpanStore& asked, QueryBudget& budget) {
    return asked.latency({}, std::nullopt, std::nullopt, kNanosPerHour, budget);
  });
  RandomInput input(seed_ * 1'000'003 + question);
  compare_random(comparer, input);
  return comparer.result;
}

}  // namespace fathom::store::testing
