// The reader of detail pools against chance: a scripted program, which follows the layout's protocol, goes on between
// any two of the reader's steps. Whatever happens, no event is torn, doubled or misattributed, and none is missing that
// was committed before the snapshot began and lies in a chunk that nobody claimed since.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/testing/repetitions.h"
#include "node-agent/detail/detail_reader.h"
#include "node-agent/testing/detail_events.h"

namespace fathom::agent {
namespace {

using testing::ScriptedDetail;

constexpr uint32_t kLarge = 3, kSmall = 12, kThreads = 4, kNone = ~0u;

struct ModelEvent {
  uint32_t chunk;
  uint32_t epoch;
  uint32_t tid;
  uint64_t ticks;
  std::vector<uint8_t> spans;
  bool committed = false;
};

class Program {
 public:
  Program(ScriptedDetail& pool, std::mt19937_64& random) : pool_(pool), random_(random), threads_(kThreads) {
    for (Thread& thread : threads_) thread.tid = next_tid_++;
  }

  void act() {
    Thread& thread = threads_[random_() % kThreads];
    switch (random_() % 16) {
      case 0:
        return change_spans(thread);
      case 1:
        return end(thread);
      case 2:
      case 3:
      case 4:
        return settle(thread);
      default:
        return write(thread);
    }
  }
  const std::vector<ModelEvent>& events() const { return events_; }
  uint64_t now() const { return ticks_; }

 private:
  struct Thread {
    uint32_t tid = 0;
    uint32_t chunk = kNone;
    std::vector<uint8_t> spans;
    std::vector<std::pair<uint32_t, uint64_t>> under_way;  // where in which chunk, and which event
    std::vector<uint32_t> retired;
  };

  // What handlers interrupted is done, in the order of a stack; then what was left behind is sealed.
  void settle(Thread& thread) {
    for (; !thread.under_way.empty(); thread.under_way.pop_back()) {
      auto [at, number] = thread.under_way.back();
      pool_.commit(events_[number].chunk, at);
      events_[number].committed = true;
    }
    for (uint32_t chunk : thread.retired) pool_.seal(chunk, ++ticks_);
    thread.retired.clear();
  }
  bool claim(Thread& thread) {
    bool small = random_() % 2 == 0;
    for (int i = 0; i < 4; ++i) {
      uint32_t& ticket = tickets_[small ? 1 : 0];
      uint32_t chunk = small ? kLarge + ticket++ % kSmall : ticket++ % kLarge;
      if (pool_.claim(chunk, ++ticks_, thread.tid) == 0) continue;
      thread.chunk = chunk;
      introduce(thread);
      return true;
    }
    return false;
  }
  void introduce(Thread& thread) {
    pool_.put(thread.chunk, testing::owner_record(thread.tid, ++ticks_));
    if (!thread.spans.empty()) tell_spans(thread);
  }
  void tell_spans(Thread& thread) { pool_.put(thread.chunk, testing::spans_record(++ticks_, thread.spans)); }
  void change_spans(Thread& thread) {
    thread.spans.clear();
    for (uint64_t i = 0; i < random_() % 4; ++i) thread.spans.push_back(static_cast<uint8_t>(random_()));
    if (thread.chunk == kNone) return;
    uint32_t bytes = pool_.chunk_bytes(thread.chunk);
    if (pool_.used(thread.chunk) + 256 > bytes) return leave(thread);
    if (random_() % 2 == 0)
      pool_.put(thread.chunk, testing::pad_record(16 + 8 * static_cast<uint32_t>(random_() % 20)));
    tell_spans(thread);
  }
  void leave(Thread& thread) {
    thread.retired.push_back(thread.chunk);
    thread.chunk = kNone;
  }
  void write(Thread& thread) {
    if (thread.chunk == kNone && !claim(thread)) return;
    uint64_t number = events_.size();
    std::string record = testing::numbered_record(number, ++ticks_, random_() % 8 == 0 ? random_() % 2000 : 90);
    uint32_t at = pool_.reserve(thread.chunk, record.size());
    if (at + record.size() > pool_.chunk_bytes(thread.chunk)) return leave(thread);
    pool_.write(thread.chunk, at, record);
    events_.push_back({thread.chunk, pool_.epoch(thread.chunk), thread.tid, ticks_, thread.spans});
    thread.under_way.emplace_back(at, number);
    if (random_() % 4 != 0) settle(thread);
  }
  // Another thread takes its place, and now and then its chunk, which is sealed meanwhile.
  void end(Thread& thread) {
    settle(thread);
    uint32_t chunk = std::exchange(thread.chunk, kNone);
    thread.tid = next_tid_++;
    thread.spans.clear();
    if (chunk == kNone) return;
    pool_.seal(chunk, ++ticks_);
    uint64_t sealed = pool::pack_detail(pool_.epoch(chunk), pool::kDetailSealed);
    uint64_t owned = pool::pack_detail(pool_.epoch(chunk), pool::kDetailOwned);
    if (random_() % 2 == 0 || pool_.used(chunk) + 300 > pool_.chunk_bytes(chunk)) return;
    if (!pool_.entry(chunk).state.compare_exchange_strong(sealed, owned)) return;
    thread.chunk = chunk;
    introduce(thread);
  }

  ScriptedDetail& pool_;
  std::mt19937_64& random_;
  std::vector<Thread> threads_;
  std::vector<ModelEvent> events_;
  uint32_t tickets_[2] = {};
  uint32_t next_tid_ = 1;
  uint64_t ticks_ = 1000;
};

class Model {
 public:
  Model(uint64_t seed, pool::DetailMode mode)
      : random_(seed),
        pool_({.large = kLarge, .small = kSmall, .mode = mode, .first_epoch = 0x7a3c59d1}),
        program_(pool_, random_),
        reader_(testing::open_detail(pool_), [this] { between_steps(); }) {
    testing::describe_numbered(pool_);
  }

  void round() {
    run(400);
    std::vector<uint64_t> before = all_there();
    std::vector<uint64_t> committed = all_committed();
    steps_ = 0;
    busy_ = random_() % 3 == 0 ? 0 : random_() % 60;
    busy_while_choosing_ = random_() % 2 == 0;
    TickWindow window{random_() % 2 == 0 ? 0 : program_.now() - random_() % 300, UINT64_MAX};
    DetailSnapshot snapshot = reader_.snapshot(window, 1 << 30);
    check(before, committed, snapshot);
  }

 private:
  void run(uint64_t most) {
    for (uint64_t i = most == 0 ? 0 : random_() % most; i > 0; --i) program_.act();
  }
  void between_steps() {
    bool choosing = ++steps_ <= kLarge + kSmall;
    if (!choosing || busy_while_choosing_) run(busy_);
  }
  bool is_there(const ModelEvent& event) {
    return pool_.epoch(event.chunk) == event.epoch && pool_.state(event.chunk) != pool::kDetailFree;
  }
  std::vector<uint64_t> all_there() {
    std::vector<uint64_t> numbers;
    for (uint64_t number = 0; number < program_.events().size(); ++number) {
      const ModelEvent& event = program_.events()[number];
      if (event.committed && is_there(event)) numbers.push_back(number);
    }
    return numbers;
  }
  std::vector<uint64_t> all_committed() {
    std::vector<uint64_t> numbers;
    for (uint64_t number = 0; number < program_.events().size(); ++number) {
      if (program_.events()[number].committed) numbers.push_back(number);
    }
    return numbers;
  }
  // From there on nothing is missing, however often the pool was overwritten.
  void check_complete(const std::vector<uint64_t>& committed, const std::set<uint64_t>& found,
                      const DetailSnapshot& snapshot) {
    if (snapshot.shape.mode == pool::DetailMode::kDiscard) return;
    for (uint64_t number : committed) {
      uint64_t ticks = program_.events()[number].ticks;
      if (ticks < snapshot.window.begin_ticks || ticks <= snapshot.missing_until_ticks) continue;
      EXPECT_EQ(found.count(number), 1u) << number << " of " << ticks << ", missing until "
                                         << snapshot.missing_until_ticks;
      ++events_sure;
    }
  }
  void check_event(const EventView& event, std::set<uint64_t>& found) {
    std::optional<uint64_t> number = testing::number_of(event);
    ASSERT_TRUE(number) << "torn";
    ASSERT_LT(*number, program_.events().size());
    const ModelEvent& written = program_.events()[*number];
    EXPECT_TRUE(found.insert(*number).second) << *number << " is there twice";
    EXPECT_TRUE(written.committed) << *number;
    EXPECT_EQ(event.ticks, written.ticks);
    EXPECT_EQ(event.tid, written.tid);
    std::vector<uint8_t> spans;
    for (const pool::SpanRef& span : event.spans) spans.push_back(span.span_id[0]);
    EXPECT_EQ(spans, written.spans);
  }
  void check(const std::vector<uint64_t>& before, const std::vector<uint64_t>& committed,
             const DetailSnapshot& snapshot) {
    std::set<uint64_t> found;
    DecodeCounts counts = decode(snapshot, [&](const EventView& event) { check_event(event, found); });
    EXPECT_EQ(counts.unknown_tracepoints + counts.malformed_payloads + counts.walk.malformed_records, 0u);
    EXPECT_EQ(snapshot.losses.unreadable_chunks, 0u);
    std::set<uint32_t> gone;
    for (uint64_t number : before) {
      const ModelEvent& event = program_.events()[number];
      if (event.ticks < snapshot.window.begin_ticks || found.count(number) != 0) continue;
      EXPECT_FALSE(is_there(event)) << number << " is missing";
      gone.insert(event.chunk);
    }
    // What was claimed anew before it was looked at is no loss of the snapshot's.
    if (!busy_while_choosing_) {
      EXPECT_LE(gone.size(), snapshot.losses.overwritten_chunks) << "not counted";
    }
    check_complete(committed, found, snapshot);
    events_found += found.size();
    chunks_gone += gone.size();
  }

 public:
  uint64_t events_found = 0;
  uint64_t chunks_gone = 0;
  uint64_t events_sure = 0;

 private:
  std::mt19937_64 random_;
  ScriptedDetail pool_;
  Program program_;
  uint64_t steps_ = 0;
  uint64_t busy_ = 0;
  bool busy_while_choosing_ = false;
  DetailReader reader_;
};

class DetailModel : public ::testing::TestWithParam<uint64_t> {};

TEST_P(DetailModel, EveryEventIsReadOrCounted) {
  uint64_t found = 0, gone = 0, sure = 0;
  const uint64_t first = GetParam() * 20;
  for (uint64_t seed = first; seed < first + repetitions(20); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Model model(seed, seed % 4 == 0 ? pool::DetailMode::kDiscard : pool::DetailMode::kOverwrite);
    for (int i = 0; i < 25; ++i) model.round();
    found += model.events_found;
    gone += model.chunks_gone;
    sure += model.events_sure;
    if (HasFailure()) return;
  }
  EXPECT_GT(found, repetitions(10'000));
  EXPECT_GT(sure, repetitions(1000));
  EXPECT_GT(gone, 0u) << "nothing was ever overwritten: this test is none";
}
INSTANTIATE_TEST_SUITE_P(Seeds, DetailModel, ::testing::Range<uint64_t>(0, 10));

}  // namespace
}  // namespace fathom::agent
