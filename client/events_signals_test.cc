// Every instruction of the write path is interrupted: by a handler that writes, by one that reads the pool as it would
// be found after a kill, by a fork.
#include <map>
#include <optional>

#include "client/process.h"
#include "client/testing/stepped_events.h"

#if defined(FATHOM_UNLOCKED)

namespace fathom::client {
namespace {

using testing::at_every_step;
using testing::at_every_step_with_context;
using testing::check_child;
using testing::DetailReader;
using testing::event_at_step;
using testing::expect_all;
using testing::fork_at_step;
using testing::forks;
using testing::Found;
using testing::in_own_process;
using testing::is_child;
using testing::is_instant_to_act;
using testing::look;
using testing::main_event;
using testing::mains;
using testing::raw_fork_at_step;
using testing::ReadEvent;
using testing::step_off;
using testing::step_on;
using testing::step_stride;
using testing::stepped_event;
using testing::steps;

__attribute__((noinline)) void long_event(uint64_t number, const std::string& text) {
  FATHOM_EVENT_ON("main", "number", number, "twice", number * 2, "text", text);
}

// The interrupting events fill many chunks, so that changing them is interrupted too.
TEST(EventSignals, AnEventAtEveryInstruction) {
  in_own_process([] {
    event_at_step(steps++);
    at_every_step([](int) { event_at_step(steps++); });
    for (int i = 0; i < 400; i++) stepped_event();
    DetailReader reader = DetailReader::of_this_process();
    expect_all(reader);
    EXPECT_GT(steps, mains * 20) << "instructions";
  });
}

// From the first one in a process on: the pool, the description and the first chunk are made in the handler too.
TEST(EventSignals, AtEveryInstructionOfTheFirstEvent) {
  in_own_process([] {
    at_every_step([](int) { event_at_step(steps++); });
    stepped_event();
    DetailReader reader = DetailReader::of_this_process();
    const Found found = look(reader);
    EXPECT_EQ(found.mains.size() + found.steps.size() + fathom_lost_events(), mains + steps);
    EXPECT_GT(found.steps.size(), 100U);
  });
}

// The handler has a span of its own, and the interrupted thread another one: events stay with theirs.
void spanned_step(int) {
  const Span span("handler");
  event_at_step(steps++);
}
TEST(EventSignals, EachBelongsToItsOwnSpan) {
  in_own_process([] {
    event_at_step(steps++);
    at_every_step(spanned_step);
    std::map<uint64_t, std::string> spans_of_mains;
    for (int i = 0; i < 12; i++) {
      const Span span("main");
      spans_of_mains[mains] = span.context().traceparent().substr(36, 16);
      stepped_event();
    }
    DetailReader reader = DetailReader::of_this_process();
    for (const ReadEvent& event : reader.events()) {
      const bool is_main = event.name == "main";
      const auto known = spans_of_mains.find(event.number("number"));
      if (is_main && known != spans_of_mains.end()) {
        EXPECT_EQ(event.span_id, known->second);
      }
      for (const auto& [number, span_id] : spans_of_mains) EXPECT_TRUE(is_main || event.span_id != span_id) << number;
    }
    expect_all(reader);
  });
}

// What a reader finds when the process is killed between any two instructions: all that was complete, byte for byte.
DetailReader* killed_reader = nullptr;
uint64_t looks = 0;
void look_at_step(int) {
  if (!is_instant_to_act()) return;
  const Found found = look(*killed_reader);
  EXPECT_GE(found.mains.size(), mains);
  EXPECT_LE(found.mains.size(), mains + 1);
  looks++;
}

uint32_t chunk_now() {
  return detail::current_view().number_of(fathom_writer_v1.cursor);
}
// Not stepped: until the next event needs another chunk.
void fill_chunk() {
  const uint64_t end = detail::current_view().end_of(chunk_now());
  while (fathom_writer_v1.cursor + 32 <= end) main_event(mains++);
}
// The claim, the first records, the change and the sealing, each instruction of them.
void step_to_another_chunk(DetailReader& reader) {
  fill_chunk();
  const uint32_t left = chunk_now();
  const uint64_t looks_before = looks;
  EXPECT_EQ(pool::state_of(reader.entry(left).state), pool::kDetailOwned);
  stepped_event();
  EXPECT_NE(chunk_now(), left);
  EXPECT_EQ(pool::state_of(reader.entry(chunk_now()).state), pool::kDetailOwned);
  EXPECT_EQ(pool::state_of(reader.entry(left).state), pool::kDetailSealed);
  EXPECT_GT(looks, looks_before + 200) << "the slow path";
}

TEST(EventSignals, KilledAtEveryInstructionOfAChange) {
  for (const bool in_span : {false, true}) {
    in_own_process([in_span] {
      settings.detail_mib = 1;
      main_event(mains++);
      DetailReader reader = DetailReader::of_this_process();
      killed_reader = &reader;
      at_every_step(look_at_step);
      std::optional<Span> span;
      if (in_span) span.emplace("of the next events");
      if (in_span) stepped_event();
      step_to_another_chunk(reader);
      span.reset();
      stepped_event();
      expect_all(reader);
    });
  }
}

TEST(EventSignals, KilledAtEveryInstruction) {
  in_own_process([] {
    settings.detail_mib = 1;
    main_event(mains++);
    DetailReader reader = DetailReader::of_this_process();
    killed_reader = &reader;
    at_every_step(look_at_step);
    const std::string text(500, 'x');
    for (int i = 0; i < 6; i++) {
      stepped_event();
      step_on();
      long_event(mains, text);
      step_off();
      mains++;
    }
    EXPECT_GT(looks, mains * 20 / step_stride);
    expect_all(reader);
  });
}

void forked_event() {
  step_on();
  main_event(mains);
  step_off();
  if (is_child) _exit(check_child());
  mains++;
}

TEST(EventSignals, ForkedAtEveryInstruction) {
  in_own_process([] {
    settings.detail_mib = 1;
    main_event(mains++);
    at_every_step_with_context(fork_at_step);
    forked_event();
    const uint64_t fast_forks = forks;
    // To the end of the small chunk: a change of chunks is forked through.
    signal(SIGTRAP, SIG_IGN);
    const uint64_t room = (pool::kSmallBytes - 16) / 32 - mains;
    for (uint64_t i = 0; i < room; i++) main_event(mains++);
    at_every_step_with_context(fork_at_step);
    for (int i = 0; i < 2; i++) forked_event();
    EXPECT_GT(fast_forks, 15U);
    EXPECT_GT(forks, fast_forks + 300) << "the slow path";
    DetailReader reader = DetailReader::of_this_process();
    expect_all(reader);
  });
}

TEST(EventSignals, ForkedByTheKernelAtEveryInstruction) {
  in_own_process([] {
    settings.detail_mib = 1;
    main_event(mains++);
    at_every_step_with_context(raw_fork_at_step);
    for (int i = 0; i < 2; i++) forked_event();
    EXPECT_GT(forks, 30U);
    DetailReader reader = DetailReader::of_this_process();
    expect_all(reader);
  });
}

}  // namespace
}  // namespace fathom::client

#endif
