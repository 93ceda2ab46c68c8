// What an agent sees of spans that are open.
#include "client/open_spans.h"

#include <dlfcn.h>
#include <fathom/trace.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <memory>
#include <set>
#include <thread>

#include "client/testing/open_reader.h"
#include "client/testing/own_process.h"

namespace fathom::client {
namespace {

using testing::in_own_process;
using testing::OpenReader;
using testing::ReadLevel;
using testing::ReadSlot;

std::string span_id(const Context& context) {
  return context.traceparent().substr(36, 16);
}
std::string trace_id(const Context& context) {
  return context.traceparent().substr(3, 32);
}
ReadSlot own_slot() {
  return OpenReader::of_this_process().slot_of(static_cast<uint32_t>(gettid())).value_or(ReadSlot{});
}
std::vector<std::string> open_names() {
  std::vector<std::string> names;
  for (const auto& level : own_slot().levels) names.push_back(level ? level->name : "?");
  return names;
}
using Names = std::vector<std::string>;

// Where OTEP 4947's readers look, as hex; empty: none.
std::string published_span() {
  const auto* record = *static_cast<const uint8_t**>(dlsym(RTLD_DEFAULT, "otel_thread_ctx_v1"));
  if (record == nullptr || record[24] != 1) return "";
  std::string text;
  for (int i = 16; i < 24; i++) {
    text += "0123456789abcdef"[record[i] >> 4];
    text += "0123456789abcdef"[record[i] & 15];
  }
  return text;
}

TEST(OpenSpans, AnActiveSpanIsThereWithAllThatIsKnownOfIt) {
  const uint64_t before = ticks();
  const Span span("GET /cart", Kind::kServer);
  const ReadSlot slot = own_slot();
  ASSERT_EQ(slot.depth, 1U);
  ASSERT_TRUE(slot.levels[0]);
  const ReadLevel& level = *slot.levels[0];
  EXPECT_EQ(level.name, "GET /cart");
  EXPECT_EQ(level.name_bytes, 9U);
  EXPECT_EQ(level.span_id, span_id(span.context()));
  EXPECT_EQ(level.trace_id, trace_id(span.context()));
  EXPECT_EQ(level.kind, FATHOM_SERVER);
  EXPECT_EQ(level.flags, 3);
  EXPECT_TRUE(level.start_ticks >= before && level.start_ticks <= ticks());
}

TEST(OpenSpans, TheOutermostIsFirst) {
  EXPECT_EQ(open_names(), Names{});
  {
    const Span outer("outer");
    {
      const Span inner("inner");
      EXPECT_EQ(open_names(), (Names{"outer", "inner"}));
    }
    EXPECT_EQ(open_names(), Names{"outer"});
  }
  EXPECT_EQ(open_names(), Names{});
  EXPECT_EQ(own_slot().tid, static_cast<uint32_t>(gettid())) << "the slot stays the thread's";
}

TEST(OpenSpans, NamesOfEveryLengthAreThereAsFarAsThereIsRoom) {
  for (const size_t size : {0, 1, 7, 8, 9, 16, 87, 88, 89, 300, 500, 5000}) {
    std::string name;
    for (size_t i = 0; i < size; i++) name += static_cast<char>('a' + i % 26);
    const Span span(name);
    const auto level = own_slot().levels.at(0);
    ASSERT_TRUE(level) << size;
    EXPECT_EQ(level->name, name.substr(0, 88));
    EXPECT_EQ(level->name_bytes, std::min<size_t>(size, 4096));
  }
}

TEST(OpenSpans, ANewNameIsSeen) {
  Span outer("outer");
  Span inner("inner");
  outer.rename("another");
  inner.rename(std::string(1000, 'x'));
  EXPECT_EQ(open_names(), (Names{"another", std::string(88, 'x')}));
  DetachedSpan elsewhere("elsewhere");
  elsewhere.rename("nowhere");
  EXPECT_EQ(open_names(), (Names{"another", std::string(88, 'x')}));
}

TEST(OpenSpans, ADetachedSpanIsThereWhileItIsActive) {
  DetachedSpan span("detached");
  EXPECT_EQ(open_names(), Names{});
  {
    const Activation active(span);
    EXPECT_EQ(open_names(), Names{"detached"});
    EXPECT_EQ(own_slot().levels[0]->start_ticks, state_of(span.raw()).record.start_ticks);
  }
  EXPECT_EQ(open_names(), Names{});
}

TEST(OpenSpans, DeeperOnesAreCounted) {
  std::vector<std::unique_ptr<Span>> spans;
  for (uint32_t depth = 1; depth <= 12; depth++) {
    spans.push_back(std::make_unique<Span>("level " + std::to_string(depth)));
    EXPECT_EQ(own_slot().depth, depth);
    EXPECT_EQ(own_slot().levels.size(), std::min(depth, pool::kOpenLevels));
    EXPECT_EQ(published_span(), span_id(spans.back()->context()));
  }
  EXPECT_EQ(open_names().back(), "level 7");
  while (spans.size() > 1) {
    spans.pop_back();
    EXPECT_EQ(own_slot().depth, spans.size());
    EXPECT_EQ(published_span(), span_id(spans.back()->context()));
  }
  EXPECT_EQ(open_names(), Names{"level 1"});
  spans.clear();
  EXPECT_EQ(published_span(), "");
}

// Every span of every depth ends first once.
TEST(OpenSpans, InWhateverOrderTheyEnd) {
  for (size_t depth = 2; depth <= 10; depth++) {
    for (size_t first = 0; first < depth; first++) {
      std::vector<std::unique_ptr<Span>> spans;
      Names names;
      for (size_t i = 0; i < depth; i++) {
        names.push_back("level " + std::to_string(i));
        spans.push_back(std::make_unique<Span>(names.back()));
      }
      spans.erase(spans.begin() + static_cast<ptrdiff_t>(first));
      names.erase(names.begin() + static_cast<ptrdiff_t>(first));
      EXPECT_EQ(own_slot().depth, spans.size());
      EXPECT_EQ(published_span(), span_id(spans.back()->context()));
      names.resize(std::min<size_t>(names.size(), pool::kOpenLevels));
      EXPECT_EQ(open_names(), names) << depth << " without " << first;
      while (!spans.empty()) spans.pop_back();
      EXPECT_EQ(own_slot().depth, 0U);
      EXPECT_EQ(published_span(), "");
    }
  }
}

TEST(OpenSpans, AThreadHasASlotOfItsOwnAndGivesItBack) {
  const Span mine("mine");
  const size_t before = OpenReader::of_this_process().slots().size();
  uint32_t tid = 0;
  std::thread([&] {
    const Span span("its");
    tid = static_cast<uint32_t>(gettid());
    EXPECT_EQ(open_names(), Names{"its"});
  }).join();
  EXPECT_FALSE(OpenReader::of_this_process().slot_of(tid));
  EXPECT_EQ(OpenReader::of_this_process().slots().size(), before);
  EXPECT_EQ(open_names(), Names{"mine"});
}

// What a thread leaves open is nobody's when it has ended.
TEST(OpenSpans, AThreadThatEndsWithAnOpenSpanLeavesNone) {
  alignas(8) static fathom_span left;
  uint32_t tid = 0;
  std::thread([&] {
    tid = static_cast<uint32_t>(gettid());
    fathom_span_start_here(&left, {"left", 4}, FATHOM_INTERNAL);
    fathom_span_activate(&left);
  }).join();
  EXPECT_FALSE(OpenReader::of_this_process().slot_of(tid));
  std::thread([&] {
    const Span span("next");
    EXPECT_EQ(open_names(), Names{"next"});
  }).join();
}

// More threads at once than there are slots: the rest do without, and OTEP 4947 has their spans all the same.
TEST(OpenSpans, WithoutASlotAThreadGoesOn) {
  in_own_process([] {
    settings.chunk_count = 64;
    settings.thread_slots = 8;
    settings.chunks_offset = pool_geometry().chunks_offset;
    constexpr int kThreads = 30;
    std::latch open(kThreads), leave(1);
    std::atomic<int> with_slot{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; i++) {
      threads.emplace_back([&] {
        const Span outer("outer");
        const Span inner("inner");
        with_slot += this_thread.slot != nullptr ? 1 : 0;
        EXPECT_EQ(published_span(), span_id(inner.context()));
        open.arrive_and_wait();
        leave.wait();
      });
    }
    open.wait();
    EXPECT_EQ(with_slot.load(), 8);
    EXPECT_EQ(OpenReader::of_this_process().slots().size(), 8U);
    leave.count_down();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(OpenReader::of_this_process().slots().size(), 0U);
  });
}

// A thousand threads that live shortly: none keeps a slot, and few are ever used.
TEST(OpenSpans, ShortThreadsUseTheSameSlots) {
  in_own_process([] {
    for (int i = 0; i < 125; i++) {
      std::vector<std::thread> threads;
      for (int t = 0; t < 8; t++) {
        threads.emplace_back([] {
          const Span span("short");
          EXPECT_EQ(open_names(), Names{"short"});
        });
      }
      for (std::thread& thread : threads) thread.join();
    }
    EXPECT_EQ(OpenReader::of_this_process().slots().size(), 0U);
    EXPECT_LE(live().slots_present.load(), 64U);
  });
}

TEST(OpenSpans, AForksChildHasASlotOfItsOwnAndLeavesItsParentsAlone) {
  const Span outer("outer");
  const uint32_t parents_tid = static_cast<uint32_t>(gettid());
  const char* parents_pool = live().pool.load();
  (void)parents_pool;
  in_own_process([&] {
    EXPECT_EQ(published_span(), span_id(outer.context())) << "it is the child's context too";
    {
      const Span inner("inner");
      EXPECT_NE(own_slot().tid, parents_tid);
      // The parent watches its own span.
      EXPECT_EQ(open_names(), (Names{"?", "inner"}));
      EXPECT_EQ(published_span(), span_id(inner.context()));
    }
    EXPECT_EQ(published_span(), span_id(outer.context()));
  });
  EXPECT_EQ(open_names(), Names{"outer"});
}

TEST(OpenSpans, EndingItsParentsSpanInTheChildChangesNothingThere) {
  auto outer = std::make_unique<Span>("outer");
  in_own_process([&] {
    outer.reset();
    EXPECT_EQ(published_span(), "");
    const Span own("own");
    EXPECT_EQ(open_names(), Names{"own"});
  });
  EXPECT_EQ(open_names(), Names{"outer"});
}

}  // namespace
}  // namespace fathom::client
