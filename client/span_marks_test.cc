// Every instruction is looked at before it runs: where PTWRITE stands, and what it would write. It is jumped over, so
// that this needs no processor that has it.
#include "client/span_marks.h"

#include <fathom/trace.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "client/testing/own_process.h"
#include "client/testing/single_step.h"

#if defined(FATHOM_UNLOCKED)

namespace fathom::client {
namespace {

using testing::in_own_process;
using testing::step_off;
using testing::step_on;

constexpr size_t kMost = 16;
uint64_t marks[kMost];
size_t mark_count = 0;

void look_at_next(int, siginfo_t*, void* context) {
  constexpr unsigned char kPtwrite[] = {0xf3, 0x48, 0x0f, 0xae, 0xe0};
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const void* next;
  std::memcpy(&next, &registers[REG_RIP], sizeof next);
  if (std::memcmp(next, kPtwrite, sizeof kPtwrite) != 0) return;
  if (mark_count < kMost) marks[mark_count] = static_cast<uint64_t>(registers[REG_RAX]);
  mark_count++;
  registers[REG_RIP] += sizeof kPtwrite;
}

std::string hex_id(uint64_t id) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(id));
  return text;
}

std::vector<std::string> taken() {
  std::vector<std::string> all;
  for (size_t i = 0; i < mark_count && i < kMost; i++) all.push_back(hex_id(marks[i]));
  mark_count = 0;
  return all;
}

// As `traceparent` has it: 00-trace-span-flags.
std::string span_id_of(const Context& context) {
  return std::string(context.traceparent()).substr(36, 16);
}

const std::string kNone(16, '0');

pool::Header& own_header() {
  return *reinterpret_cast<pool::Header*>(ensure_pool());
}

void prepare() {
  testing::at_every_step_with_context(look_at_next);
  settings.ptwrite = true;
  { const Span warm("warm"); }  // before anybody records: what is not stepped would run
  own_header().span_marks = pool::kReaderWantsMarks;
}

TEST(SpanMarks, TheActiveSpanIsSaidWheneverItChanges) {
  in_own_process([] {
    prepare();
    std::string outer_id, inner_id;
    step_on();
    {
      const Span outer("outer");
      step_off();
      outer_id = span_id_of(outer.context());
      step_on();
      {
        const Span inner("inner");
        step_off();
        inner_id = span_id_of(inner.context());
        step_on();
      }
    }
    step_off();
    EXPECT_EQ(taken(), (std::vector<std::string>{outer_id, inner_id, outer_id, kNone}));
  });
}

TEST(SpanMarks, ASpanThatIsNotActiveIsNotSaid) {
  in_own_process([] {
    prepare();
    step_on();
    DetachedSpan span("elsewhere");
    span.end();
    step_off();
    EXPECT_TRUE(taken().empty());
    DetachedSpan active("here");
    const std::string id = span_id_of(active.context());
    step_on();
    { const Activation here(active); }
    step_off();
    EXPECT_EQ(taken(), (std::vector<std::string>{id, kNone}));
  });
}

TEST(SpanMarks, DeeperThanIsDescribed) {
  in_own_process([] {
    prepare();
    fathom_span spans[pool::kOpenLevels + 2] = {};
    for (fathom_span& span : spans) {
      fathom_span_start_here(&span, fathom_text{"deep", 4}, FATHOM_INTERNAL);
      step_on();
      fathom_span_activate(&span);
      step_off();
    }
    const std::vector<std::string> begins = taken();
    ASSERT_EQ(begins.size(), pool::kOpenLevels + 2);
    for (size_t i = begins.size(); i-- > 0;) {
      step_on();
      fathom_span_end(&spans[i]);
      step_off();
      EXPECT_EQ(taken(), std::vector<std::string>{i == 0 ? kNone : begins[i - 1]});
    }
  });
}

TEST(SpanMarks, NothingIsSaidUnlessSomebodyRecordsOnAProcessorThatCan) {
  in_own_process([] {
    prepare();
    settings.ptwrite = false;
    step_on();
    { const Span span("a processor without"); }
    step_off();
    settings.ptwrite = true;
    own_header().span_marks = 0;
    step_on();
    { const Span span("nobody records"); }
    step_off();
    EXPECT_TRUE(taken().empty());
    own_header().span_marks = pool::kProgramWantsMarks;
    step_on();
    { const Span span("the program wants them"); }
    step_off();
    EXPECT_EQ(taken().size(), 2U);
  });
}

// Of processors without it the instruction is undefined, and would end the program.
TEST(SpanMarks, WhereTheProcessorHasItItRuns) {
  if (!processor_has_ptwrite()) GTEST_SKIP() << "this processor has no PTWRITE";
  in_own_process([] { ptwrite(42); });
}

}  // namespace
}  // namespace fathom::client

#endif
