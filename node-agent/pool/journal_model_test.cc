// The journal of a pool against chance: programs write, agents die between any two changes that they make to a pool,
// the collector's answers get lost. Whatever happens, every finished span is stored once, and a batch that is sent
// again is the same batch.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>

#include "node-agent/pool/pool_reader.h"
#include "node-agent/testing/collecting_sink.h"
#include "node-agent/testing/scripted_pool.h"

namespace fathom::agent {
namespace {

using testing::CollectingSink;
using testing::make_record;
using testing::ScriptedPool;

constexpr uint32_t kModelChunks = 5;

struct Crash {};

// A program with a thread per chunk, whose writes may stay unfinished for a while.
class Writer {
 public:
  Writer(ScriptedPool& pool, std::mt19937_64& random) : pool_(pool), random_(random) {}

  void act() {
    auto chunk = static_cast<uint32_t>(random_() % kModelChunks);
    switch (pool_.state(chunk)) {
      case pool::kFree:
        pool_.claim(chunk);
        return;
      case pool::kOwned:
        return write(chunk);
      default:
        return;
    }
  }
  void finish() {
    for (uint32_t chunk = 0; chunk < kModelChunks; ++chunk) {
      commit_all(chunk);
      if (pool_.state(chunk) == pool::kOwned) pool_.seal(chunk);
    }
  }
  uint64_t written() const { return next_; }

 private:
  struct Open {
    uint32_t at;
    std::string record;
  };
  void write(uint32_t chunk) {
    if (random_() % 8 == 0) commit_all(chunk);
    std::string record = make_record(next_, "n" + std::string(random_() % 3000, 'n'));
    uint32_t at = pool_.reserve(chunk, record.size());
    if (at + record.size() > pool::kChunkBytes) {
      commit_all(chunk);
      return pool_.seal(chunk);
    }
    ++next_;
    open_[chunk].push_back({at, record});
    if (random_() % 4 != 0) commit_all(chunk);
    if (random_() % 16 == 0 && open_[chunk].empty()) pool_.seal(chunk);
  }
  void commit_all(uint32_t chunk) {
    for (const Open& open : open_[chunk]) pool_.commit(chunk, open.at, open.record);
    open_[chunk].clear();
  }

  ScriptedPool& pool_;
  std::mt19937_64& random_;
  std::vector<Open> open_[kModelChunks];
  uint64_t next_ = 0;
};

// Remembers batches by their sequence, which is what their identity is made of.
class Collector {
 public:
  void store(uint64_t sequence, std::vector<uint64_t> numbers) {
    std::sort(numbers.begin(), numbers.end());
    auto [at, fresh] = batches_.emplace(sequence, numbers);
    EXPECT_EQ(at->second, numbers) << "batch " << sequence << " is another one than before";
    if (!fresh) return;
    for (uint64_t number : numbers) ++spans_[number];
  }
  void check(uint64_t written) const {
    for (uint64_t number = 0; number < written; ++number) {
      auto found = spans_.find(number);
      ASSERT_EQ(found == spans_.end() ? 0 : found->second, 1) << "span " << number;
    }
    ASSERT_EQ(spans_.size(), written);
  }

 private:
  std::map<uint64_t, std::vector<uint64_t>> batches_;
  std::map<uint64_t, int> spans_;
};

class Agents {
 public:
  Agents(ScriptedPool& pool, std::mt19937_64& random, Collector& collector)
      : pool_(pool), random_(random), collector_(collector) {}

  // One thing that an agent does; it may die at any change of the pool.
  void act(bool mortal) {
    fuse_ = mortal && random_() % 3 == 0 ? 1 + random_() % 12 : 0;
    try {
      if (!reader_) {
        attach();
      } else if (reader_->resumes()) {
        again();
      } else if (reader_->under_way()) {
        reader_->acknowledge();
      } else {
        fresh();
      }
    } catch (const Crash&) {
      reader_.reset();
    }
    if (mortal && random_() % 20 == 0) reader_.reset();
  }
  bool saw_nothing() const { return saw_nothing_; }

 private:
  void attach() {
    Result<PoolFile> file = PoolFile::open(pool_.descriptor(), 0);
    ASSERT_TRUE(file.ok());
    reader_.emplace(*std::move(file), random_() | 1, losses_, [this] {
      if (fuse_ != 0 && --fuse_ == 0) throw Crash();
    });
  }
  void again() {
    CollectingSink sink;
    reader_->collect_again(sink);
    send(sink.numbers);
  }
  void fresh() {
    CollectingSink sink;
    Collected collected = reader_->collect(sink, 1 + random_() % 30'000, false);
    saw_nothing_ = collected.empty;
    if (sink.numbers.empty()) return;
    reader_->begin();
    send(sink.numbers);
  }
  // The batch may get lost on its way, or the answer.
  void send(const std::vector<uint64_t>& numbers) {
    bool arrives = fuse_ == 0 || random_() % 2 == 0;
    if (arrives) collector_.store(reader_->sequence(), numbers);
    if (!arrives) reader_.reset();
  }

  ScriptedPool& pool_;
  std::mt19937_64& random_;
  Collector& collector_;
  AgentLosses losses_;
  std::optional<PoolReader> reader_;
  uint64_t fuse_ = 0;
  bool saw_nothing_ = false;
};

class JournalModel : public ::testing::TestWithParam<uint64_t> {};

TEST_P(JournalModel, EverySpanIsStoredOnce) {
  for (uint64_t seed = GetParam() * 100; seed < GetParam() * 100 + 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    ScriptedPool pool(kModelChunks);
    Writer writer(pool, random);
    Collector collector;
    Agents agents(pool, random, collector);
    for (int i = 0; i < 300; ++i) {
      if (random() % 2 == 0) {
        writer.act();
      } else {
        agents.act(true);
      }
    }
    writer.finish();
    for (int i = 0; i < 200 && !agents.saw_nothing(); ++i) agents.act(false);
    for (int i = 0; i < 20; ++i) agents.act(false);
    collector.check(writer.written());
    for (uint32_t chunk = 0; chunk < kModelChunks; ++chunk) EXPECT_EQ(pool.state(chunk), pool::kFree);
    if (HasFailure()) return;
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, JournalModel, ::testing::Range<uint64_t>(0, 10));

}  // namespace
}  // namespace fathom::agent
