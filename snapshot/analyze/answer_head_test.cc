#include "snapshot/analyze/answer_head.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "snapshot/analyze/svg.h"
#include "snapshot/analyze/trace_time.h"
#include "snapshot/format/testing/samples.h"

namespace fathom::snapshot {
namespace {

DecodeSummary summary_with_gaps() {
  DecodeSummary summary;
  summary.instructions = 12345;
  summary.gap_total = 3;
  summary.gaps[GapReason::kOverflow] = {2, 0, ""};
  summary.gaps[GapReason::kMissingImage] = {1, 0x401000, "no file: /lib/\x1b[2Jx.so"};
  return summary;
}

TEST(AnswerHead, SaysHowItCameToBe) {
  EXPECT_EQ(head_text(sample_snapshot()),
            "engine: step, 812 times slower\n"
            "recorded: shop --port 0 on node-1, 2023-11-14 22:13:20.123\n"
            "trigger: overdue, thread 43, trace 30313233343536373839616263646566, span 3031323334353637\n"
            "lost: ring overwritten (3)\n");
  EXPECT_EQ(head_text(Snapshot{}), "engine: intel pt\n");
  Snapshot mild;
  mild.slowdown = 1.24;
  EXPECT_EQ(engine_text(mild), "engine: intel pt, 1.2 times slower");
  mild.slowdown = std::nan("");
  EXPECT_EQ(engine_text(mild), "engine: intel pt");
}

// Threads that contend hold a lock in turns: a head is no list of these.
TEST(AnswerHead, FewLocksAreShownAndTheRestCounted) {
  Snapshot snapshot;
  for (int32_t holder = 1; holder <= 6; ++holder) {
    Sideband wait;
    wait.kind = SidebandKind::kLockWait;
    wait.tid = 100;
    wait.other_tid = holder;
    wait.text = "mutex";
    snapshot.sideband.push_back(wait);
    const std::string text = head_text(snapshot);
    EXPECT_EQ(std::ranges::count(text, '\n'), 1 + std::min(holder, 5)) << text;
    EXPECT_EQ(text.find("more; --format json has all") != std::string::npos, holder > 5) << text;
  }
  EXPECT_NE(head_text(snapshot).find("lock: and 2 more;"), std::string::npos);
}

TEST(AnswerHead, AChainOfHoldersIsToldToItsEnd) {
  Snapshot snapshot;
  for (int32_t tid = 1; tid <= 3; ++tid) {
    Sideband wait;
    wait.kind = SidebandKind::kLockWait;
    wait.tid = tid;
    wait.other_tid = tid + 1;
    wait.address = static_cast<uint64_t>(tid) * 16;
    wait.text = "mutex";
    snapshot.sideband.push_back(wait);
  }
  EXPECT_NE(
      head_text(snapshot).find("lock: thread 2 holds a mutex that thread 1 waits for, and waits itself for a mutex "
                               "that thread 3 holds, which waits for a mutex that thread 4 holds (--tid 4 shows it)"),
      std::string::npos)
      << head_text(snapshot);
  std::string out;
  net::JsonWriter json(out);
  json.begin_object();
  head_json(json, snapshot);
  json.end_object();
  EXPECT_NE(out.find(R"({"holder":2,"lock":"mutex","address":"0x10","waiters":[1],"blocking_thread":4,"chain":[)"
                     R"({"holder":3,"lock":"mutex","address":"0x20"},{"holder":4,"lock":"mutex","address":"0x30"}]})"),
            std::string::npos)
      << out;
}

TEST(AnswerHead, SaysWhatIsMissing) {
  EXPECT_EQ(gaps_text(DecodeSummary{}), "gaps: none\n");
  EXPECT_EQ(gaps_text(summary_with_gaps()),
            "gaps: 3 (overflow 2, missing image 1)\n"
            "  missing image, first at 0x401000: no file: /lib/\\x1b[2Jx.so\n");
  EXPECT_EQ(caption_text(sample_snapshot(), summary_with_gaps()),
            "engine: step, 812 times slower; 12,345 instructions; gaps: 3 (overflow 2, missing image 1)");
}

TEST(AnswerHead, IsJsonToo) {
  std::string out;
  net::JsonWriter json(out);
  json.begin_object();
  head_json(json, sample_snapshot());
  gaps_json(json, summary_with_gaps());
  json.end_object();
  EXPECT_EQ(out, R"({"engine":"step","slowdown":812.5,"origin":"recorded","host":"node-1","command":"shop --port 0",)"
                 R"("taken_unix_nano":1700000000123456789,"trigger":{"reason":"overdue","tid":43,)"
                 R"("trace_id":"30313233343536373839616263646566","span_id":"3031323334353637"},)"
                 R"("losses":{"ring overwritten":3},"instructions":12345,"gaps":{"total":3,"reasons":[)"
                 R"({"reason":"overflow","count":2,"cause":""},{"reason":"missing image","count":1,)"
                 R"("first_ip":"0x401000","cause":"no file: /lib/\u001b[2Jx.so"}]}})");
}

TEST(AnswerHead, RecordsWithoutUseAreNoLosses) {
  Snapshot snapshot;
  snapshot.losses = {{std::string(Loss::kUnused) + "SAMPLE", 15}};
  EXPECT_EQ(head_text(snapshot).find("lost"), std::string::npos);
  snapshot.losses.push_back({"ring overwritten", 3});
  EXPECT_NE(head_text(snapshot).find("lost: ring overwritten (3)\n"), std::string::npos);
}

TEST(TraceTime, NanosecondsWhereTheyAreKnown) {
  Timing timing;
  EXPECT_EQ(TraceTime(timing).duration(1500), 1500u);
  EXPECT_EQ(TraceTime(timing).text(1500), "1,500 ticks");
  timing.conversion_mult = 1u << 30;
  timing.conversion_shift = 31;
  const TraceTime time(timing);
  EXPECT_EQ(time.duration(1500), 750u);
  EXPECT_EQ(time.text(750), "750 ns");
  EXPECT_EQ(time.duration(UINT64_MAX), UINT64_MAX / 2);
  timing.conversion_shift = 65535;
  EXPECT_EQ(TraceTime(timing).duration(UINT64_MAX), 0u);
}

TEST(TraceTime, NominalWhereOnlyTheProcessorIsKnown) {
  const auto hz = [](uint8_t nom_freq, uint32_t eax, uint32_t ebx, Cpu cpu = {}) {
    Timing timing;
    timing.nom_freq = nom_freq;
    timing.cpuid_0x15_eax = eax;
    timing.cpuid_0x15_ebx = ebx;
    return nominal_tsc_hz(timing, cpu);
  };
  EXPECT_EQ(hz(0, 0, 0), 0u);
  EXPECT_EQ(hz(37, 0, 0), 3'700'000'000u);
  EXPECT_EQ(hz(37, 2, 308), 3'696'000'000u);  // of 24 MHz
  EXPECT_EQ(hz(21, 2, 168), 2'100'000'000u);  // of 25 MHz
  EXPECT_EQ(hz(11, 3, 171), 1'094'400'000u);  // of 19.2 MHz
  EXPECT_EQ(hz(37, 1, 1), 3'700'000'000u);    // no crystal fits
  EXPECT_EQ(hz(0, 2, 168, {true, 6, 0x9e, 9}), 2'016'000'000u);
  EXPECT_EQ(hz(0, 2, 168, {true, 6, 0x55, 4}), 2'100'000'000u);
  EXPECT_EQ(hz(0, 2, 168, {true, 6, 1, 0}), 0u);
  EXPECT_EQ(hz(0, 2, 168, {false, 6, 0x55, 4}), 0u);
  EXPECT_EQ(hz(0, 1, UINT32_MAX, {true, 6, 0x55, 4}), 0u);
  EXPECT_EQ(hz(0, UINT32_MAX, 1, {true, 6, 0x55, 4}), 0u);
}

TEST(TraceTime, NominalTimeIsSaidToBe) {
  Snapshot snapshot;
  snapshot.timing.nom_freq = 37;
  const TraceTime time(snapshot);
  EXPECT_TRUE(time.is_nano());
  EXPECT_EQ(time.nominal_hz(), 3'700'000'000u);
  EXPECT_NEAR(static_cast<double>(time.duration(3'700'000'000)), 1e9, 2);
  EXPECT_NE(head_text(snapshot).find("time: nominal, the counter is taken to run at 3.700 GHz\n"), std::string::npos);
  EXPECT_NE(caption_text(snapshot, {}).find("time is nominal"), std::string::npos);
  snapshot.timing.conversion_mult = 1u << 31;
  snapshot.timing.conversion_shift = 32;
  EXPECT_EQ(TraceTime(snapshot).nominal_hz(), 0u);
  EXPECT_EQ(head_text(snapshot).find("nominal"), std::string::npos);
}

TEST(Svg, WordsOfStrangersAreHarmless) {
  Svg svg(100, 50.25);
  svg.rect(1, 2, 3.5, 4, name_colour("f"), "a<b>&\"c\x1b");
  svg.text(5, 6, "x", 12, "end");
  EXPECT_EQ(std::move(svg).finish(),
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100\" height=\"50.2\" viewBox=\"0 0 100 50.2\" "
            "font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
            "<rect x=\"1\" y=\"2\" width=\"3.5\" height=\"4\" fill=\"" +
                name_colour("f") +
                "\"><title>a&lt;b&gt;&amp;&quot;c\\x1b</title></rect>\n"
                "<text x=\"5\" y=\"6\" font-size=\"12\" text-anchor=\"end\">x</text>\n</svg>\n");
}

}  // namespace
}  // namespace fathom::snapshot
