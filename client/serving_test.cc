// Events of a thread that serves several requests at once.
#include "client/serving.h"

#include <fathom/event.h>
#include <fathom/trace.h>
#include <gtest/gtest.h>

#include <set>

#include "client/process.h"
#include "client/testing/detail_reader.h"
#include "client/testing/own_process.h"
#include "client/testing/single_step.h"

namespace fathom::client {
namespace {

using testing::DetailReader;
using testing::in_own_process;
using testing::ReadEvent;

using Ids = std::vector<std::string>;

std::vector<Context> contexts(int count) {
  std::vector<Context> made;
  for (int i = 0; i < count; i++) {
    DetachedSpan span("request");
    made.push_back(span.context());
  }
  return made;
}
std::string id_of(const Context& context) {
  return context.traceparent().substr(36, 16);
}
Ids ids_of(const std::vector<Context>& contexts) {
  Ids ids;
  for (const Context& context : contexts) ids.push_back(id_of(context));
  return ids;
}

void event(int number) {
  FATHOM_EVENT_ON("served", "number", number);
}
// What event() of this number belongs to.
Ids spans_of(int number) {
  DetailReader reader = DetailReader::of_this_process();
  Ids found{"not there"};
  for (const ReadEvent& event : reader.events("served")) {
    if (event.number("number") == static_cast<uint64_t>(number)) found = event.spans;
  }
  EXPECT_TRUE(reader.faults().empty()) << reader.faults()[0];
  return found;
}

TEST(Serving, EventsBelongToAllThatAreServed) {
  in_own_process([] {
    for (int count = 0; count <= FATHOM_MOST_SERVED; count++) {
      const std::vector<Context> served = contexts(count);
      const Serving serving(served);
      event(count);
      event(100 + count);
      EXPECT_EQ(spans_of(count), ids_of(served));
      EXPECT_EQ(spans_of(100 + count), ids_of(served));
    }
    event(200);
    EXPECT_EQ(spans_of(200), Ids{});
  });
}

TEST(Serving, MoreThanThereIsRoomForAreCounted) {
  in_own_process([] {
    std::vector<Context> served = contexts(FATHOM_MOST_SERVED + 3);
    const Serving serving(served);
    event(1);
    served.resize(FATHOM_MOST_SERVED);
    EXPECT_EQ(spans_of(1), ids_of(served));
    EXPECT_EQ(reinterpret_cast<pool::Header*>(live().pool.load())->losses[pool::kLostDetails].load(), 3U);
  });
}

TEST(Serving, ASetTakesThePlaceOfTheActiveSpanAndGivesItBack) {
  in_own_process([] {
    const std::vector<Context> served = contexts(5), others = contexts(2);
    const Span worker("worker");
    event(1);
    {
      const Serving serving(served);
      event(2);
      {
        const Serving inner(others.data(), others.size());
        event(3);
      }
      event(4);
    }
    event(5);
    EXPECT_EQ(spans_of(1), Ids{id_of(worker.context())});
    EXPECT_EQ(spans_of(2), ids_of(served));
    EXPECT_EQ(spans_of(3), ids_of(others));
    EXPECT_EQ(spans_of(4), ids_of(served));
    EXPECT_EQ(spans_of(5), Ids{id_of(worker.context())});
  });
}

TEST(Serving, ASpanWithinIsNamedBesideTheSet) {
  in_own_process([] {
    const std::vector<Context> served = contexts(4);
    const Span worker("worker");
    const Serving serving({served[0], served[1], served[2], served[3]});
    Ids expected;
    {
      const Span step("step");
      event(1);
      expected = {id_of(step.context())};
      EXPECT_NE(step.context().traceparent().find(worker.context().traceparent().substr(3, 32)), std::string::npos);
    }
    event(2);
    for (const std::string& id : ids_of(served)) expected.push_back(id);
    EXPECT_EQ(spans_of(1), expected);
    EXPECT_EQ(spans_of(2), ids_of(served));
  });
}

TEST(Serving, EmptyContextsAreNobodys) {
  in_own_process([] {
    const fathom_context empty[3] = {};
    fathom_serving serving = {};
    fathom_serve_end(&serving);  // not begun
    fathom_serve_begin(&serving, empty, 3);
    event(1);
    fathom_serve_end(&serving);
    fathom_serve_begin(&serving, nullptr, 7);
    event(2);
    fathom_serve_end(&serving);
    fathom_serve_end(&serving);
    EXPECT_EQ(spans_of(1), Ids{});
    EXPECT_EQ(spans_of(2), Ids{});
  });
}

TEST(Serving, SetsEndInAnyOrderAndBeginTwice) {
  in_own_process([] {
    const std::vector<Context> first = contexts(2), second = contexts(1);
    fathom_serving one, two;
    fathom_serve_begin(&one, &first[0].raw(), 2);
    fathom_serve_begin(&two, &second[0].raw(), 1);
    fathom_serve_end(&one);
    event(1);
    fathom_serve_begin(&two, &first[1].raw(), 1);
    event(2);
    fathom_serve_end(&two);
    event(3);
    EXPECT_EQ(spans_of(1), ids_of(second));
    EXPECT_EQ(spans_of(2), Ids{id_of(first[1])});
    EXPECT_EQ(spans_of(3), Ids{});
    EXPECT_EQ(this_thread.serving, nullptr);
  });
}

// To the ends of many chunks: each begins with the whole set.
TEST(Serving, ChunksRepeatTheSet) {
  in_own_process([] {
    settings.detail_mib = 1;
    const std::vector<Context> served = contexts(FATHOM_MOST_SERVED);
    const Serving serving(served);
    const Span step("step");
    const std::string text(1900, 'x');
    for (int i = 0; i < 3000; i++) {
      FATHOM_EVENT_ON("long", "text", text);
      event(i);
    }
    DetailReader reader = DetailReader::of_this_process();
    std::set<uint32_t> chunks;
    for (const ReadEvent& event : reader.events()) {
      chunks.insert(event.chunk);
      EXPECT_EQ(event.spans.size(), 1U + FATHOM_MOST_SERVED);
    }
    EXPECT_GT(chunks.size(), 10U);
    EXPECT_EQ(fathom_lost_events(), 0U);
  });
}

#if defined(FATHOM_UNLOCKED)

// A handler that serves others interrupts the begin, the event and the end of a set at every instruction.
int next_handler_event = 1000;
const std::vector<Context>* handlers_set = nullptr;
void serve_at_step(int) {
  const Serving serving(*handlers_set);
  event(next_handler_event++);
}

TEST(Serving, AtEveryInstruction) {
  in_own_process([] {
    const std::vector<Context> served = contexts(6), others = contexts(3);
    handlers_set = &others;
    event(0);
    testing::at_every_step(serve_at_step);
    const Span worker("worker");
    for (int i = 1; i <= 5; i++) {
      testing::step_on();
      fathom_serving serving;
      fathom_serve_begin(&serving, &served[0].raw(), served.size());
      event(2 * i);
      fathom_serve_end(&serving);
      event(2 * i + 1);
      testing::step_off();
    }
    DetailReader reader = DetailReader::of_this_process();
    for (const ReadEvent& event : reader.events()) {
      const auto number = static_cast<int>(event.number("number"));
      const bool is_handlers = number >= 1000, is_served = number % 2 == 0;
      if (number == 0) continue;
      EXPECT_EQ(event.spans, is_handlers ? ids_of(others)
                             : is_served ? ids_of(served)
                                         : Ids{id_of(worker.context())})
          << number;
    }
    EXPECT_TRUE(reader.faults().empty()) << reader.faults()[0];
    EXPECT_GT(next_handler_event, 2000);
    EXPECT_EQ(fathom_lost_events(), 0U);
  });
}

#endif

}  // namespace
}  // namespace fathom::client
