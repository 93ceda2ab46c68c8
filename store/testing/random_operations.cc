// What a random sequence does: the kinds of operations, and how often each is drawn.
#include <algorithm>

#include "store/testing/random_answers.h"
#include "store/testing/random_input.h"
#include "store/testing/random_ops.h"
#include "store/testing/random_pages.h"
#include "store/testing/random_scans.h"

namespace fathom::store::testing {

namespace {

bool has_few_operations(uint64_t seed) {
  return seed % 2 == 1;
}

// Then many traces pass the limit of spans.
bool has_small_traces(uint64_t seed) {
  return seed % 4 < 2;
}

// What scans show can be compared number by number only where no row may come twice.
bool has_unique_rows(uint64_t seed) {
  return seed % 3 == 0;
}

class Sequence {
 public:
  explicit Sequence(uint64_t seed)
      : few_operations_(has_few_operations(seed)), unique_(has_unique_rows(seed)), input_(seed, unique_) {}

  Operation next() {
    using Draw = Operation (Sequence::*)();
    static const std::vector<std::pair<uint64_t, Draw>> kDraws = {
        {34, &Sequence::append},    {16, &Sequence::slowest},  {8, &Sequence::find},   {8, &Sequence::trace},
        {4, &Sequence::operations}, {4, &Sequence::latency},   {2, &Sequence::keys},   {3, &Sequence::values},
        {4, &Sequence::first_page}, {6, &Sequence::next_page}, {3, &Sequence::resend}, {3, &Sequence::settle},
        {2, &Sequence::reopen},     {3, &Sequence::advance},   {1, &Sequence::drop},   {1, &Sequence::stats},
        {5, &Sequence::times},      {5, &Sequence::sample},    {4, &Sequence::calls},  {6, &Sequence::trace_pages}};
    uint64_t at = input_.below(122);
    for (const auto& [weight, draw] : kDraws) {
      if (at < weight) return (this->*draw)();
      at -= weight;
    }
    return append();
  }

 private:
  struct Sent {
    BatchPtr batch;
    uint64_t at_unix_nano;
  };

  Operation append() {
    BatchPtr batch = make_batch(input_.spans(), input_.clock());
    sent_.push_back({batch, now_});
    return send("append", batch);
  }

  static Operation send(const std::string& what, const BatchPtr& batch) {
    return {what + " a batch of " + std::to_string(batch->rows().size()), [batch](Session& session) {
              AppendResult result = append_and_wait(session.store(), batch);
              return std::string(result.outcome == AppendOutcome::kDurable ? "durable" : "refused") +
                     (result.duplicate ? ", known" : "");
            }};
  }

  Operation resend() {
    std::erase_if(sent_, [&](const Sent& sent) { return now_ - sent.at_unix_nano >= kNanosPerHour; });
    if (sent_.empty()) return append();
    return send("append again", sent_[input_.below(sent_.size())].batch);
  }

  Operation slowest() {
    Filter filter = input_.filter();
    By by = input_.pick({By::kTrace, By::kSpan, By::kSpanOfTrace});
    size_t limit = input_.limit();
    return {"slowest " + std::to_string(limit) + " " + filter_text(filter, by), [=](Session& session) {
              QueryBudget budget;
              return answer_text(session.store().slowest(filter, by, limit, std::nullopt, budget));
            }};
  }

  Operation find() {
    Filter filter = input_.filter();
    By by = input_.pick({By::kTrace, By::kSpan, By::kSpanOfTrace});
    size_t limit = input_.limit();
    return {"find " + std::to_string(limit) + " " + filter_text(filter, by), [=](Session& session) {
              QueryBudget budget;
              return answer_text(session.store().find(filter, by, limit, budget));
            }};
  }

  Operation times() {
    Filter filter = input_.filter();
    return {"times " + filter_text(filter, By::kSpan),
            [=, unique = unique_](Session& session) { return times_text(session.store(), filter, unique); }};
  }

  Operation sample() {
    Filter filter = input_.filter();
    SampleLimits limits;
    limits.shown = input_.pick<uint64_t>({0, 1, 3, 40});
    limits.scanned = input_.pick<uint64_t>({0, 30, limits.scanned});
    limits.counted = input_.pick<uint64_t>({0, 20, limits.counted});
    limits.blocks = input_.pick<uint32_t>({0, 1, limits.blocks});
    return {"sample " + std::to_string(limits.shown) + " of " + filter_text(filter, By::kSpan),
            [=, unique = unique_](Session& session) { return sample_text(session.store(), filter, limits, unique); }};
  }

  Operation calls() {
    TimeRange range = input_.range();
    return {"calls" + range_text(range),
            [=, unique = unique_](Session& session) { return calls_text(session.store(), range, unique); }};
  }

  Operation first_page() {
    Paging paging{input_.filter(), input_.pick({By::kTrace, By::kSpan, By::kSpanOfTrace}),
                  input_.pick<size_t>({1, 2, 3, 7, 20})};
    paging_.push_back(paging);
    return turn(paging_.size() - 1, true);
  }

  Operation next_page() {
    if (paging_.empty()) return first_page();
    uint64_t recent = std::min<uint64_t>(paging_.size(), 3);
    return turn(paging_.size() - 1 - input_.below(recent), false);
  }

  struct Paging {
    Filter filter;
    By by;
    size_t limit;
  };

  Operation turn(uint64_t slot, bool first) {
    Paging paging = paging_[slot];
    std::string text = first ? "first page " : "next page ";
    text += std::to_string(slot) + " of " + std::to_string(paging.limit) + " " + filter_text(paging.filter, paging.by);
    return {text, [=](Session& session) -> std::string {
              std::optional<Cursor>& cursor = session.pages[slot];
              if (!first && !cursor) return "no further page";
              QueryBudget budget;
              Result<SlowPage> page = session.store().slowest(paging.filter, paging.by, paging.limit,
                                                              first ? std::nullopt : cursor, budget);
              cursor = page ? page->next : std::nullopt;
              return answer_text(page);
            }};
  }

  Operation trace() {
    TraceId id = input_.trace_id();
    return {"trace " + std::to_string(number_of(id)), [=](Session& session) {
              QueryBudget budget;
              return answer_text(session.store().trace(id, budget));
            }};
  }

  // All pages of a trace together, because which spans are on which page is the store's affair.
  Operation trace_pages() {
    TraceId id = input_.trace_id();
    size_t limit = input_.pick<size_t>({1, 2, 5, 1000});
    return {"trace " + std::to_string(number_of(id)) + " in pages of " + std::to_string(limit),
            [=](Session& session) { return trace_pages_text(session.store(), id, limit); }};
  }

  static std::string range_text(const TimeRange& range) {
    return " from=" + std::to_string(range.from_unix_nano) + " to=" + std::to_string(range.to_unix_nano);
  }

  Operation operations() {
    TimeRange range = input_.range();
    std::optional<std::string> service = input_.service();
    return {"operations " + service.value_or("*") + range_text(range), [=](Session& session) {
              QueryBudget budget;
              Result<std::optional<uint64_t>> first = session.store().first_start(range, budget);
              return answer_text(session.store().operations(range, service, budget)) + "first start " +
                     (first && *first ? std::to_string(**first) : "none") + "\n";
            }};
  }

  Operation latency() {
    TimeRange range = input_.range();
    std::optional<std::string> service = input_.service(), operation = input_.operation();
    uint64_t step = kNanosPerMinute * input_.pick<uint64_t>({1, 2, 7, 60, 120});
    return {"latency " + service.value_or("*") + "/" + operation.value_or("*") + " step=" + std::to_string(step) +
                range_text(range),
            [=](Session& session) {
              QueryBudget budget;
              return answer_text(session.store().latency(range, service, operation, step, budget));
            }};
  }

  // Of all time only: a store may answer for more than a range.
  Operation keys() {
    return {"attribute keys", [](Session& session) {
              QueryBudget budget;
              return answer_text(session.store().attribute_keys({}, budget));
            }};
  }

  Operation values() {
    std::string key = input_.pick({"method", "code", "host", "service.name", "rare.1", "none"});
    std::string containing = input_.pick({"", "", "T", "0", "nothing"});
    return {"attribute values of " + key + " with '" + containing + "'", [=](Session& session) {
              QueryBudget budget;
              return answer_text(session.store().attribute_values({}, key, containing, 1000, budget));
            }};
  }

  static std::string settle_now(Session& session) { return session.store().settle().ok() ? "settled" : "not settled"; }

  Operation settle() {
    return {"settle", [](Session& session) { return settle_now(session); }};
  }

  Operation reopen() {
    return {"reopen", [](Session& session) {
              session.harness->reopen();
              return std::string("open");
            }};
  }

  Operation advance() {
    uint64_t nano = kNanosPerMinute * input_.pick<uint64_t>({1, 20, 31, 61, 130});
    now_ += nano;
    return {"advance the clock by " + std::to_string(nano), [=](Session& session) {
              session.harness->advance(nano);
              return std::string("advanced");
            }};
  }

  // Settles first: until then a store may keep equal rows apart, and so under the partition of either.
  Operation drop() {
    uint64_t age = kNanosPerMinute * input_.pick<uint64_t>({0, 60, 120, 200, 300});
    std::erase_if(sent_, [&](const Sent& sent) { return sent.at_unix_nano < now_ - age; });
    if (few_operations_) input_.forget_earlier();
    return {"settle and drop what is older than " + std::to_string(age), [=](Session& session) {
              std::string settled = settle_now(session);
              uint64_t before = session.harness->now_unix_nano() - age;
              return settled + (session.store().drop_before(before).ok() ? ", dropped" : ", not dropped");
            }};
  }

  Operation stats() {
    return {"stats",
            [](Session& session) { return "received=" + std::to_string(session.store().stats().received_sequence); }};
  }

  const bool few_operations_;
  const bool unique_;
  RandomInput input_;
  std::vector<Sent> sent_;
  std::vector<Paging> paging_;
  uint64_t now_ = kTestNow;
};

}  // namespace

HarnessOptions random_harness(uint64_t seed) {
  HarnessOptions options;
  if (has_few_operations(seed)) options.operations_per_service = 4;
  if (has_small_traces(seed)) options.trace_spans = 12;
  return options;
}

std::vector<Operation> random_operations(uint64_t seed, size_t count) {
  Sequence sequence(seed);
  std::vector<Operation> operations;
  for (size_t i = 0; i < count; ++i) operations.push_back(sequence.next());
  return operations;
}

}  // namespace fathom::store::testing
