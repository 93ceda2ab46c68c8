// Random interleavings of writers, their ends, overwriting and reading, against a model that knows where each event was
// put: what nobody has overwritten is there, once and whole, and what is not there was overwritten or is counted.
//
// FATHOM_SEEDS=N runs N of them, FATHOM_SEED=S begins with seed S.
#include "client/detail/writer.h"

#include <fathom/event.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>

#include "base/testing/repetitions.h"
#include "client/process.h"
#include "client/testing/detail_reader.h"
#include "client/testing/own_process.h"
#include "client/thread.h"

namespace fathom::client::detail {
namespace {

using testing::DetailReader;
using testing::in_own_process;
using testing::ReadEvent;

uint64_t setting(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

uint64_t checksum(uint64_t writer, uint64_t number, std::string_view text) {
  uint64_t sum = writer * 0x9e3779b97f4a7c15 + number;
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return sum;
}

// A thread that takes turns with others on this one: all that is a thread's own is put in and out.
struct Writer {
  uint64_t id = 0;
  fathom_writer words{kNowhere, &no_limit, kNowhere};
  uint32_t generation = 0, chunks = 0, retired = 0;
  bool starved = false;
  uint64_t numbers = 0;
};

void swap_in(Writer& writer) {
  fathom_writer_v1 = writer.words;
  writer_state.generation = writer.generation;
  writer_state.chunks = writer.chunks;
  writer_state.retired = writer.retired;
  writer_state.starved = writer.starved;
  // It may enter now, as any thread does with its first event.
  if (this_thread.generation != live().generation.load()) enter(this_thread);
  this_thread.writer.tid = writer_state.tid = static_cast<uint32_t>(writer.id);
}
void swap_out(Writer& writer) {
  writer.words = fathom_writer_v1;
  writer.generation = writer_state.generation;
  writer.chunks = writer_state.chunks;
  writer.retired = writer_state.retired;
  writer.starved = writer_state.starved;
}

class Model {
 public:
  explicit Model(uint64_t seed) : random_(seed) {}

  void run(int actions) {
    for (int i = 0; i < actions && !::testing::Test::HasFailure(); i++) {
      act();
      if (i % 500 == 499) check();
    }
    for (auto& [number, state] : held_) give_back(number, state);
    check();
  }

 private:
  struct Event {
    uint64_t writer, number;
    bool operator<(const Event& other) const {
      return writer != other.writer ? writer < other.writer : number < other.number;
    }
  };
  struct Place {
    uint32_t chunk, epoch;
  };

  uint64_t below(uint64_t end) { return std::uniform_int_distribution<uint64_t>(0, end - 1)(random_); }
  // Most threads write little, some much.
  Writer& some_writer() {
    if (writers_.empty() || (writers_.size() < 40 && below(50) == 0)) {
      writers_.push_back({++ids_});
      return writers_.back();
    }
    return writers_[below(3) == 0 ? below(writers_.size()) : 0];
  }

  void act() {
    const uint64_t dice = below(1000);
    if (dice < 20) return end_writer();
    if (dice < 30) return hold();
    if (dice < 45) return give_one_back();
    if (dice < 47) return lose_reader();
    Writer& writer = some_writer();
    swap_in(writer);
    for (uint64_t n = 1 + below(30); n > 0; n--) write(writer);
    swap_out(writer);
  }

  void write(Writer& writer) {
    const std::string text(below(20) == 0 ? below(1900) : below(40), static_cast<char>('a' + below(26)));
    const uint64_t number = writer.numbers++;
    const uint64_t lost = lost_events();
    FATHOM_EVENT_ON("model", "writer", writer.id, "number", number, "text", text, "sum",
                    checksum(writer.id, number, text));
    written_++;
    if (lost_events() != lost) {
      lost_++;
      return;
    }
    const View view = current_view();
    const uint32_t chunk = view.number_of(fathom_writer_v1.cursor - 1);
    ASSERT_NE(chunk, ~0U);
    const uint64_t state = view.entries[chunk].state.load();
    EXPECT_EQ(pool::state_of(state), pool::kDetailOwned);
    where_[{writer.id, number}] = {chunk, pool::epoch_of(state)};
  }

  void end_writer() {
    if (writers_.size() < 2) return;
    const size_t which = below(writers_.size());
    swap_in(writers_[which]);
    leave_thread();
    writers_.erase(writers_.begin() + static_cast<ptrdiff_t>(which));
  }

  // The agent's part: sealed -> reading, and back.
  void hold() {
    const View view = current_view();
    if (view.header == nullptr || held_.size() >= view.count() / 4) return;
    const auto number = static_cast<uint32_t>(below(view.count()));
    uint64_t state = view.entries[number].state.load();
    if (pool::state_of(state) != pool::kDetailSealed) return;
    const uint64_t reading = pool::pack_detail(pool::epoch_of(state), pool::kDetailReading, view.header->reader.load());
    if (view.entries[number].state.compare_exchange_strong(state, reading)) held_[number] = reading;
  }
  void give_back(uint32_t number, uint64_t state) {
    const uint64_t sealed = pool::pack_detail(pool::epoch_of(state), pool::kDetailSealed);
    EXPECT_TRUE(current_view().entries[number].state.compare_exchange_strong(state, sealed)) << "taken while read";
  }
  void give_one_back() {
    if (held_.empty()) return;
    const auto [number, state] = *held_.begin();
    held_.erase(held_.begin());
    give_back(number, state);
  }
  // Its connection has ended; what it held may be claimed, or found so by the next one.
  void lose_reader() {
    const View view = current_view();
    if (view.header == nullptr) return;
    view.header->reader.fetch_add(1);
    held_.clear();
  }

  void check() {
    const View view = current_view();
    DetailReader reader = DetailReader::of_this_process();
    std::map<Event, Place> found;
    for (const ReadEvent& event : reader.events()) {
      if (event.name != "model") continue;
      const Event key{event.number("writer"), event.number("number")};
      EXPECT_EQ(event.tid, key.writer) << "another thread's";
      EXPECT_EQ(event.number("sum"), checksum(key.writer, key.number, event["text"])) << "torn";
      EXPECT_TRUE(found.emplace(key, Place{event.chunk, event.epoch}).second) << "twice";
    }
    EXPECT_TRUE(reader.faults().empty()) << reader.faults()[0];
    for (auto at = where_.begin(); at != where_.end();) {
      const bool overwritten = pool::epoch_of(view.entries[at->second.chunk].state.load()) != at->second.epoch;
      EXPECT_EQ(found.contains(at->first), !overwritten) << at->first.writer << "/" << at->first.number;
      if (overwritten) overwritten_++;
      at = overwritten ? where_.erase(at) : std::next(at);
    }
    EXPECT_EQ(found.size(), where_.size());
    EXPECT_EQ(written_, where_.size() + overwritten_ + lost_);
    for (const Writer& writer : writers_) EXPECT_EQ(writer.words.cursor, writer.words.committed);
    EXPECT_LE(reader.chunks_in_state(pool::kDetailOwned), writers_.size());
  }

  std::mt19937_64 random_;
  std::vector<Writer> writers_;
  uint64_t ids_ = 0, written_ = 0, lost_ = 0, overwritten_ = 0;
  std::map<Event, Place> where_;
  std::map<uint32_t, uint64_t> held_;
};

TEST(WriterModel, RandomInterleavings) {
  const uint64_t first = setting("FATHOM_SEED", std::random_device{}());
  for (uint64_t seed = first; seed < first + setting("FATHOM_SEEDS", repetitions(5)); seed++) {
    SCOPED_TRACE("FATHOM_SEED=" + std::to_string(seed));
    in_own_process([seed] {
      settings.detail_mib = 1;
      settings.discard = seed % 8 == 0;
      Model(seed).run(5000);
      if (::testing::Test::HasFailure()) std::printf("FATHOM_SEED=%llu\n", static_cast<unsigned long long>(seed));
    });
  }
}

}  // namespace
}  // namespace fathom::client::detail
