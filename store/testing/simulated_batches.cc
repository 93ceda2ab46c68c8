#include "store/testing/simulated_batches.h"

#include <algorithm>
#include <fstream>

#include "base/time.h"
#include "store/model/memory_store.h"
#include "store/testing/random_answers.h"

namespace fathom::store::testing {

namespace {

constexpr uint64_t kFirstMarker = 1001;  // RandomInput's
constexpr size_t kRows = 1000;

std::string difference(const std::string& what, const std::string& expected, const std::string& actual) {
  if (expected == actual) return "";
  return what + "\nexpected:\n" + expected + "\nactual:\n" + actual + "\n";
}

template <typename Ask>
std::string compare_answer(const std::string& what, SpanStore& model, SpanStore& store, const Ask& ask) {
  QueryBudget of_model, of_store;
  return difference(what, answer_text(ask(model, of_model)), answer_text(ask(store, of_store)));
}

}  // namespace

SentBatch& SimulatedBatches::make(const SimulatedTime& now) {
  BatchPtr batch = make_batch(input_.spans(), input_.clock());
  sent_.push_back({.batch = std::move(batch), .marker = kFirstMarker + sent_.size(), .made = now});
  return sent_.back();
}

void SimulatedBatches::acknowledge(SentBatch& sent) {
  if (!sent.acknowledged) sent.order = ++acknowledgements_;
  sent.acknowledged = true;
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
      ++presence.unreadable;
    } else if (sent.may_be_dropped) {
      sent.dropped = true;
    } else if (sent.acknowledged) {
      presence.missing.push_back(&sent);
    }
  }
  return presence;
}

std::string SimulatedBatches::compare(SpanStore& store, const Presence& presence) {
  MemoryStore model;
  uint64_t spans = 0;
  for (const SentBatch* sent : presence.stored) {
    model.append(sent->batch, [](AppendResult) {});
    spans += sent->batch->rows().size();
  }
  const uint64_t stored = store.stats().spans_stored;
  if (stored != spans) return "spans: " + std::to_string(stored) + " stored, " + std::to_string(spans) + " expected";
  std::string found = compare_answer("operations", model, store, [](SpanStore& asked, QueryBudget& budget) {
    return asked.operations({}, std::nullopt, budget);
  });
  if (!found.empty()) return found;
  found = compare_answer("latency", model, store, [](SpanStore& asked, QueryBudget& budget) {
    return asked.latency({}, std::nullopt, std::nullopt, kNanosPerHour, budget);
  });
  return found.empty() ? compare_random(model, store) : found;
}

std::string SimulatedBatches::compare_random(SpanStore& model, SpanStore& store) {
  for (By by : {By::kTrace, By::kSpan, By::kSpanOfTrace}) {
    const Filter filter = input_.chance(30) ? Filter() : input_.filter();
    std::string found = compare_answer(
        "slowest " + filter_text(filter, by), model, store,
        [&](SpanStore& asked, QueryBudget& budget) { return asked.slowest(filter, by, kRows, std::nullopt, budget); });
    if (!found.empty()) return found;
    found = compare_answer("find " + filter_text(filter, by), model, store, [&](SpanStore& asked, QueryBudget& budget) {
      return asked.find(filter, by, kRows, budget);
    });
    if (!found.empty()) return found;
  }
  const TraceId id = input_.trace_id();
  return compare_answer("trace", model, store,
                        [&](SpanStore& asked, QueryBudget& budget) { return asked.trace(id, budget); });
}

bool SimulatedBatches::is_newest(const std::vector<SentBatch*>& missing) const {
  return std::all_of(missing.begin(), missing.end(),
                     [&](const SentBatch* sent) { return sent->order + missing.size() > acknowledgements_; });
}

void SimulatedBatches::write_expectation(const std::string& path) const {
  std::ofstream out(path);
  for (const SentBatch& sent : sent_) {
    out << sent.marker << ' ' << (sent.acknowledged && !sent.may_be_dropped ? "acknowledged" : "optional") << '\n';
  }
}

uint64_t spans_in_statistics(SpanStore& store) {
  QueryBudget budget;
  Result<std::vector<OperationStats>> operations = store.operations({}, std::nullopt, budget);
  uint64_t spans = 0;
  if (!operations) return 0;
  for (const OperationStats& operation : *operations) spans += operation.spans;
  return spans;
}

}  // namespace fathom::store::testing
