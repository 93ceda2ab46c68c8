// Every instruction of an active span's life is interrupted: by a handler that begins and ends spans, by a reader that
// reads one word at a time, by a fork. What is read belongs together.
#include <dlfcn.h>
#include <fathom/trace.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <map>
#include <tuple>

#include "client/open_spans.h"
#include "client/testing/open_reader.h"
#include "client/testing/own_process.h"
#include "client/testing/pool_reader.h"
#include "client/testing/single_step.h"
#include "client/testing/stepped_forks.h"

#if defined(FATHOM_UNLOCKED)

namespace fathom::client {
namespace {

using testing::at_every_step;
using testing::at_every_step_with_context;
using testing::expect_good_child;
using testing::forks;
using testing::in_own_process;
using testing::is_child;
using testing::OpenReader;
using testing::PoolReader;
using testing::ReadLevel;
using testing::ReadSpan;
using testing::step_no_more;
using testing::step_off;
using testing::step_on;

// All that a level says of a span, and the same of the span when it has ended.
using Said = std::tuple<std::string, std::string, uint64_t, std::string, uint8_t, uint8_t>;

std::map<Said, uint64_t> seen;
void note(const ReadLevel& level) {
  seen[{level.span_id, level.trace_id, level.start_ticks, level.name, level.kind, level.flags}]++;
}

const pool::ThreadSlot* watched = nullptr;
uint64_t interruptions = 0, completed = 0;

// A reader that is as slow as can be: it does one thing, then the program goes on by one instruction.
class SlowReader {
 public:
  void step() {
    if (at_ == 0) return begin();
    if (at_ <= kWords) return copy_word(at_++ - 1);
    finish();
    at_ = 0;
  }

 private:
  static constexpr uint32_t kWords = sizeof(pool::OpenSpan) / 8;
  const pool::OpenSpan& level() const { return watched->levels[number_]; }
  void begin() {
    number_ = (number_ + 1) % 3;
    start_ = level().start_ticks.load();
    if (start_ != 0 && watched->depth.load() > number_) at_ = 1;
  }
  void copy_word(uint32_t word) {
    std::memcpy(copy_ + word * 8, reinterpret_cast<const char*>(&level()) + word * 8, 8);
  }
  void finish() {
    if (watched->depth.load() <= number_ || level().start_ticks.load() != start_) return;
    // By the other reader's eyes, out of a pool with this level alone.
    alignas(pool::ThreadSlot) static char memory[3 * pool::kPageBytes];
    auto& header = *reinterpret_cast<pool::Header*>(memory);
    header.thread_slots = 4;
    header.chunks_offset = sizeof memory;
    auto& slot = *reinterpret_cast<pool::ThreadSlot*>(memory + 2 * pool::kPageBytes);
    slot.owner_tid = slot.depth = 1;
    std::memcpy(static_cast<void*>(&slot.levels[0]), copy_, sizeof copy_);
    slot.levels[0].start_ticks = start_;
    if (const auto read = OpenReader(memory).slot(0); read && read->levels[0]) note(*read->levels[0]);
    completed++;
  }
  uint32_t at_ = 0, number_ = 0;
  uint64_t start_ = 0;
  char copy_[sizeof(pool::OpenSpan)] = {};
};
SlowReader slow_reader;

void look_at_once() {
  const auto slot = OpenReader::of_this_process().slot_of(watched->owner_tid);
  for (const auto& level : slot->levels) {
    if (level) note(*level);
  }
}

// Whoever looks at OTEP 4947's record looks while the thread stands still.
std::string published() {
  static const auto* place = static_cast<const uint8_t**>(dlsym(RTLD_DEFAULT, "otel_thread_ctx_v1"));
  if (*place == nullptr || (*place)[24] != 1) return "";
  return {reinterpret_cast<const char*>(*place), 24};
}
std::map<std::string, uint64_t> published_ids;

void two_spans() {
  const Span outer("handler", Kind::kProducer);
  look_at_once();
  const Span inner("in the handler", Kind::kConsumer);
  look_at_once();
  published_ids[published()]++;
}

void interrupted(int) {
  interruptions++;
  look_at_once();
  published_ids[published()]++;
  slow_reader.step();
  if (interruptions % 3 != 0) two_spans();
  slow_reader.step();
  published_ids[published()]++;
}

void stepped_span(const char* name) {
  fathom_span span;
  step_on();
  fathom_span_start_here(&span, {name, std::strlen(name)}, FATHOM_SERVER);
  fathom_span_activate(&span);
  fathom_span_end(&span);
  step_off();
}
void stepped_rename(fathom_span& span, const char* name) {
  step_on();
  fathom_span_set_name(&span, {name, std::strlen(name)});
  step_off();
}
// The one in the middle ends first.
void stepped_disorder() {
  fathom_span spans[3];
  for (fathom_span& span : spans) {
    fathom_span_start_here(&span, {"one of three", 12}, FATHOM_CLIENT);
    fathom_span_activate(&span);
  }
  for (const int i : {1, 0, 2}) {
    step_on();
    fathom_span_end(&spans[i]);
    step_off();
  }
}

Said said_of(const ReadSpan& span, const std::string& name) {
  return {span.span_id, span.trace_id, span.start_ticks, name, span.kind, span.flags};
}
std::string bytes_of_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

// Ids of spans that ended, as OTEP 4947 has them; and what may be said of each.
struct Truth {
  std::map<Said, bool> said;
  std::map<std::string, bool> ids{{"", true}};
  void learn(PoolReader& reader, const std::vector<std::string>& other_names = {}) {
    for (const ReadSpan& span : reader.take()) {
      said[said_of(span, span.name.substr(0, 88))] = true;
      for (const std::string& name : other_names) said[said_of(span, name)] = true;
      ids[bytes_of_hex(span.trace_id + span.span_id)] = true;
    }
  }
};

void expect_truth(const Truth& truth) {
  uint64_t wrong = 0, wrong_ids = 0;
  for (const auto& [said, times] : seen) wrong += truth.said.contains(said) ? 0 : 1;
  for (const auto& [ids, times] : published_ids) wrong_ids += truth.ids.contains(ids) ? 0 : 1;
  EXPECT_EQ(wrong, 0U) << "of " << seen.size() << ", that no span is like";
  EXPECT_EQ(wrong_ids, 0U) << "of " << published_ids.size() << ", that are of no span";
  EXPECT_EQ(fathom_lost_spans(), 0U);
  EXPECT_EQ(watched->depth.load(), 0U);
  EXPECT_EQ(published(), "");
  for (const pool::OpenSpan& level : watched->levels) EXPECT_EQ(level.start_ticks.load(), 0U);
}

void begin_watching() {
  { const Span span("first"); }
  watched = this_thread.slot;
  ASSERT_NE(watched, nullptr);
  at_every_step(interrupted);
}

TEST(OpenSpanSignals, WhatIsSeenAtEveryInstructionBelongsTogether) {
  in_own_process([] {
    begin_watching();
    PoolReader reader = PoolReader::of_this_process();
    Truth truth;
    for (int i = 0; i < 60; i++) {
      stepped_span("alone");
      {
        const Span outer("outer");
        stepped_span("a name of many words, so that it takes more than one of the processor's");
        look_at_once();
      }
      truth.learn(reader);
    }
    expect_truth(truth);
    EXPECT_GT(interruptions, 10'000U);
    EXPECT_GT(completed, 100U);
    EXPECT_GT(seen.size(), 300U);
  });
}

TEST(OpenSpanSignals, AlsoOfSpansThatAreDeeperThanIsDescribed) {
  in_own_process([] {
    begin_watching();
    PoolReader reader = PoolReader::of_this_process();
    Truth truth;
    for (int i = 0; i < 10; i++) {
      for (int depth = 4; depth <= 8; depth++) {
        std::vector<std::unique_ptr<Span>> outer;
        while (static_cast<int>(outer.size()) < depth) outer.push_back(std::make_unique<Span>("outer"));
        stepped_span("deep");
        EXPECT_EQ(watched->depth.load(), outer.size());
        while (!outer.empty()) outer.pop_back();
      }
      truth.learn(reader);
    }
    expect_truth(truth);
  });
}

TEST(OpenSpanSignals, AlsoOfSpansThatEndInAnyOrder) {
  in_own_process([] {
    begin_watching();
    PoolReader reader = PoolReader::of_this_process();
    Truth truth;
    for (int i = 0; i < 30; i++) {
      stepped_disorder();
      truth.learn(reader);
    }
    expect_truth(truth);
  });
}

// A new name takes the place of the old one; a reader that began with the one and ends with the other sees the same
// begin of the same span before and after, and letters of both (docs/formats/span-pool.md).
TEST(OpenSpanSignals, AlsoOfSpansThatAreRenamed) {
  in_own_process([] {
    begin_watching();
    PoolReader reader = PoolReader::of_this_process();
    Truth truth;
    for (int i = 0; i < 20; i++) {
      Span span("old");
      stepped_rename(*span.raw(), "a new and longer name");
      span.end();
      truth.learn(reader, {"old"});
    }
    for (auto at = seen.begin(); at != seen.end();) {
      at = std::get<3>(at->first).rfind("a new", 0) == 0 ? seen.erase(at) : std::next(at);
    }
    expect_truth(truth);
  });
}

// `two_spans` in the child before it goes on: or it goes on with what it has.
bool traces_in_handler = false;
void go_on_as_child(void* context) {
  step_no_more(context);
  is_child = true;
  if (traces_in_handler) const Span span("in the child's handler");
}
void fork_span_at_step(int, siginfo_t*, void* context) {
  if (is_child) return;
  traces_in_handler = !traces_in_handler;
  const pid_t child = fork();
  child == 0 ? go_on_as_child(context) : expect_good_child(child);
}
void raw_fork_span_at_step(int, siginfo_t*, void* context) {
  if (is_child) return;
  traces_in_handler = !traces_in_handler;
  const auto child = static_cast<pid_t>(syscall(SYS_fork));
  child == 0 ? go_on_as_child(context) : expect_good_child(child);
}
// A handler's span is open while it forks.
void fork_within_a_span(int, siginfo_t*, void* context) {
  if (is_child) return;
  const Span span("handler");
  fork_span_at_step(0, nullptr, context);
}

// The stepped span was its parent's, or, begun after the fork, its own.
int check_traced_child(const Span& outer) {
  if (published().substr(16) != bytes_of_hex(outer.context().traceparent().substr(36, 16))) return 1;
  {
    const Span own("own");
    const auto slot = OpenReader::of_this_process().slot_of(static_cast<uint32_t>(gettid()));
    if (!slot || slot->depth != 2 || slot->levels[0] || !slot->levels[1] || slot->levels[1]->name != "own") return 2;
    if (published().substr(16) != bytes_of_hex(own.context().traceparent().substr(36, 16))) return 3;
    if (this_thread.slot == watched) return 4;
  }
  return this_thread.open == 1 ? 0 : 5;
}

// A fork that the C library knows nothing of, in the middle of a span's storing, is not supported (docs/client.md).
void stepped_activation() {
  fathom_span span;
  step_on();
  fathom_span_start_here(&span, {"forked", 6}, FATHOM_SERVER);
  fathom_span_activate(&span);
  fathom_span_deactivate(&span);
  step_off();
  fathom_span_end(&span);
}

void forked_span(const Span& outer, void (*stepped)()) {
  stepped();
  if (is_child) _exit(check_traced_child(outer));
  EXPECT_EQ(watched->depth.load(), 1U);
  EXPECT_EQ(this_thread.open, 1U);
}

void fork_everywhere(void (*handler)(int, siginfo_t*, void*), void (*stepped)()) {
  in_own_process([=] {
    begin_watching();
    at_every_step_with_context(handler);
    {
      const Span outer("outer");
      for (int i = 0; i < 2; i++) forked_span(outer, stepped);
      const auto slot = OpenReader::of_this_process().slot_of(watched->owner_tid);
      EXPECT_EQ(slot->levels.at(0)->name, "outer") << "no child wrote there";
    }
    EXPECT_GT(forks, 200U);
    EXPECT_EQ(PoolReader::of_this_process().take().size(), handler == fork_within_a_span ? 4 + forks : 4U);
  });
}

TEST(OpenSpanSignals, ForkedAtEveryInstruction) {
  fork_everywhere(fork_span_at_step, [] { stepped_span("forked"); });
}
TEST(OpenSpanSignals, ForkedByTheKernelAtEveryInstruction) {
  fork_everywhere(raw_fork_span_at_step, stepped_activation);
}
TEST(OpenSpanSignals, ForkedWithinAHandlersSpanAtEveryInstruction) {
  fork_everywhere(fork_within_a_span, [] { stepped_span("forked"); });
}

}  // namespace
}  // namespace fathom::client

#endif
