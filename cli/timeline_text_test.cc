// What the server's golden document looks like to a person. To change it: run this test with FATHOM_WRITE_GOLDEN set to
// this folder's testdata/, look at the difference, and commit it.
#include "cli/timeline_text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/api.h"
#include "cli/text.h"
#include "cli/timeline_lines.h"
#include "cli/wait_text.h"

namespace fathom::cli {
namespace {

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

boost::json::value server_document() {
  auto document = parse_json(file_text(std::string(FATHOM_TESTDATA) + "/../../query/testdata/timeline.json"));
  EXPECT_TRUE(document.ok());
  return document ? *document : boost::json::value();
}

boost::json::value parsed_json(const std::string& json) {
  auto document = parse_json(json);
  EXPECT_TRUE(document.ok()) << json;
  return document ? *document : boost::json::value();
}

std::string texts_of(const ThreadLines& lines) {
  std::string text;
  for (const TimelineLine& line : lines.lines) text += std::string(line.depth, '>') + line.text + "\n";
  return text;
}

TEST(TimelineText, TheServersDocument) {
  std::string text = timeline_text(server_document(), {});
  if (const char* directory = std::getenv("FATHOM_WRITE_GOLDEN")) {
    std::ofstream(std::string(directory) + "/timeline.txt") << text;
  }
  EXPECT_EQ(text, file_text(std::string(FATHOM_TESTDATA) + "/timeline.txt"));
}

TEST(TimelineText, ACaptureNamesItsProcess) {
  const auto text = [](const std::string& pid) {
    return timeline_text(
        parsed_json(R"({"captures":[{"id":"ca","trigger":"slow","service":"svc","host_name":"vm")" + pid + "}]}"), {});
  };
  EXPECT_NE(text(R"(,"pid":5165)").find("\ncapture ca  slow  svc pid 5165 on vm\n"), std::string::npos);
  EXPECT_NE(text("").find("\ncapture ca  slow  svc on vm\n"), std::string::npos) << "it is not known";
}

TEST(TimelineText, AThreadOfWhichNothingWasCapturedSaysSo) {
  const auto text = [](const std::string& member) {
    return timeline_text(parsed_json(R"({"processes":[{"threads":[{"tid":7)" + member + "}]}]}"), {});
  };
  const std::string words = "  thread 7: the captures have no events of this thread\n";
  EXPECT_NE(text(R"(,"not_captured":true)").find(words), std::string::npos);
  EXPECT_EQ(text("").find("have no events"), std::string::npos);
}

TEST(TimelineText, NoLineIsWiderThanTheTerminal) {
  std::istringstream lines(timeline_text(server_document(), {.columns = 60}));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 60u) << line;
}

TEST(TimelineText, ColoursAreForTerminalsOnly) {
  EXPECT_EQ(timeline_text(server_document(), {}).find('\x1b'), std::string::npos);
  EXPECT_NE(timeline_text(server_document(), {.colour = true}).find("\x1b[1m"), std::string::npos);
}

TEST(TimelineText, WithoutCapturesItSaysSo) {
  std::string text = timeline_text(parsed_json(R"({"trace_id":"ab","captures":[],"processes":[]})"), {});
  EXPECT_NE(text.find("nothing of its threads was captured"), std::string::npos);
}

TEST(TimelineText, ASpanThatWasHandedOnHasBothThreads) {
  const std::string span = R"("operation":"hand","span_id":"01","kind":"internal","offset_nano":0,"duration_nano":5)";
  auto text = [&](const std::string& more) {
    return texts_of(thread_lines(parsed_json(R"({"tid":7,"spans":[{)" + span + more + "}]}"), 0));
  };
  EXPECT_EQ(text(R"(,"start_tid":7,"end_tid":8)"), "hand  [from thread 7 to 8]\n");
  EXPECT_EQ(text(""), "hand\n");
}

TEST(TimelineText, WaitsOfASpanThatWasHandedOnAreThoseOfItsThread) {
  const std::string span =
      R"({"operation":"hand","span_id":"01","offset_nano":0,"duration_nano":5000000,)"
      R"("start_tid":7,"end_tid":8,"state_totals":{"running_nano":1000000,"sleeping_nano":4000000}})";
  const std::vector<TimelineLine> lines = thread_lines(parsed_json(R"({"tid":8,"spans":[)" + span + "]}"), 0).lines;
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].below.at(0).find("this thread, also while the span was on the other one: "), std::string::npos)
      << lines[0].below[0];
}

TEST(TimelineText, AProcessWithoutCapturesSaysWhy) {
  const std::string text = timeline_text(
      parsed_json(R"({"trace_id":"ab","captures":[],"processes":[{"service":"pay","no_capture":{"reason":"memory",)"
                  R"("explanation":"the memory\u001b for captures was used up"}}]})"),
      {});
  EXPECT_NE(text.find("\npay\n  nothing was captured: the memory"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << "it comes from a node";
  EXPECT_NE(text.find("nothing of its threads was captured: these are its spans only (docs/triggers.md)\n"),
            std::string::npos)
      << "without guesses: " << text;
}

TEST(TimelineText, OtherRequestsCapturesAreNotItsOwn) {
  const std::string text =
      timeline_text(parsed_json(R"({"trace_id":"ab","captures":[{}],"processes":[{"service":"pay","captures":[0],)"
                                R"("no_capture":{"reason":"rate","explanation":"too many"}}]})"),
                    {});
  EXPECT_NE(text.find("\n  not captured for this request: too many\n"), std::string::npos) << text;
}

TEST(TimelineText, APartThatIsMissingIsCalledAPart) {
  const std::string text =
      timeline_text(parsed_json(R"({"trace_id":"ab","captures":[{}],"processes":[{"service":"pay","captures":[0],)"
                                R"("no_capture":{"reason":"rate","explanation":"not captured to its end: too many",)"
                                R"("partial":true}}]})"),
                    {});
  EXPECT_NE(text.find("\n  not captured to its end: too many\n"), std::string::npos) << text;
}

TEST(TimelineText, CapturesThatAreLeftOutAreCounted) {
  const std::string text =
      timeline_text(parsed_json(R"({"trace_id":"ab","captures":[{}],"captures_left_out":2,"processes":[]})"), {});
  EXPECT_NE(text.find("\nleft out: 2 captures of other requests"), std::string::npos) << text;
  const std::string none = timeline_text(parsed_json(R"({"trace_id":"ab","captures":[{}],"processes":[]})"), {});
  EXPECT_EQ(none.find("left out"), std::string::npos) << none;
}

TEST(TimelineText, ACaptureOfAnotherRequestSaysSo) {
  const std::string reason = "POST /x took 812 ms, its threshold is 250 ms";
  const auto text_of_capture = [&](const std::string& trace_id) {
    return timeline_text(parsed_json(R"({"trace_id":"ab","captures":[{"id":"1","trace_id":")" + trace_id +
                                     R"(","reason":")" + reason + R"("}],"processes":[]})"),
                         {});
  };
  EXPECT_NE(text_of_capture("cd").find(reason + "\n  of another request, trace cd"), std::string::npos);
  EXPECT_EQ(text_of_capture("ab").find("another request"), std::string::npos);
  EXPECT_EQ(text_of_capture("").find("another request"), std::string::npos);
}

TEST(TimelineText, AWindowWithLostChangesIsNotCalledComplete) {
  auto text = [](const std::string& loss) {
    return timeline_text(
        parsed_json(R"({"captures":[{"kernel_complete_from_offset_nano":0,"content_losses":[{"name":")" + loss +
                    R"(","count":2}]}],"processes":[]})"),
        {});
  };
  EXPECT_NE(text("kernel_missed").find("the kernel's from +0.000000 ms but for what was lost\n"), std::string::npos);
  EXPECT_NE(text("overwritten").find("the kernel's from +0.000000 ms\n"), std::string::npos);
}

TEST(TimelineText, ThereIsNoCompletenessBehindTheEnd) {
  auto text = [](int64_t events, int64_t kernel) {
    return timeline_text(
        parsed_json(R"({"trace_id":"ab","duration_nano":357000000,"captures":[{"offset_nano":300000000,)"
                    R"("duration_nano":100000000,"events_complete_from_offset_nano":)" +
                    std::to_string(events) + R"(,"kernel_complete_from_offset_nano":)" + std::to_string(kernel) +
                    R"(}],"processes":[]})"),
        {});
  };
  const auto says = [&](int64_t events, int64_t kernel, const std::string& words) {
    EXPECT_NE(text(events, kernel).find(words), std::string::npos) << text(events, kernel);
  };
  says(300'000'000, 433'000'000,
       "; events complete from +300.000 ms, the kernel's not complete, some are overwritten\n");
  says(400'000'000, 399'999'999,
       "; events not complete, some are overwritten, the kernel's from +399.999 ms (after the request)\n");
  says(356'999'999, 300'000'000, "; events complete from +356.999 ms, the kernel's from +300.000 ms\n");
}

TEST(TimelineText, WhatTheServerLeftOutHasACure) {
  auto timeline = parsed_json(R"({"trace_id":"ab","truncated":true,"left_out":596765})");
  EXPECT_NE(timeline_text(timeline, {.max_lines = 100}).find("left out 596,765 items: --limit 0 shows them\n"),
            std::string::npos);
  EXPECT_NE(timeline_text(timeline, {}).find("left out 596,765 items: ask for less, by --span or --capture\n"),
            std::string::npos);
}

TEST(TimelineText, WhatWasOpenWhenTheProcessEndedIsSaidSo) {
  auto text = [](const std::string& ended) {
    return timeline_text(
        parsed_json(R"({"captures":[{"process_ended":)" + ended +
                    R"(}],"processes":[{"captures":[0],"threads":[{"spans":[{"operation":"s","open":true}]}]}]})"),
        {});
  };
  EXPECT_NE(text("true").find("s  [open when the process ended]\n"), std::string::npos);
  EXPECT_NE(text("false").find("s  [not over yet]\n"), std::string::npos);
}

TEST(TimelineText, ASignalThatEndedTheProcessIsNamed) {
  const std::string text = timeline_text(parsed_json(R"({"captures":[{"exit_signal":"SIGSEGV"}]})"), {});
  EXPECT_NE(text.find("  the process was killed by SIGSEGV\n"), std::string::npos) << text;
}

TEST(TimelineText, WhatIsMissingIsSaidOnce) {
  std::string capture = R"({"kernel_missing":"why not","losses":[{"name":"over_budget_chunks","count":2}],)"
                        R"("content_losses":[{"name":"over_budget_chunks","count":2},{"name":"torn","count":1}]})";
  std::string text = timeline_text(parsed_json(R"({"captures":[)" + capture + "," + capture + "]}"), {});
  EXPECT_EQ(text.find("why not"), text.rfind("why not"));
  EXPECT_NE(text.find("nothing of the kernel, as above"), std::string::npos);
  std::string lost = "  lost: 2 over_budget_chunks (the oldest events: more than --capture-budget)\n  lost: 1 torn\n\n";
  EXPECT_NE(text.find(lost), std::string::npos) << text;
}

TEST(TimelineText, WhatStrangersWroteIsHarmless) {
  std::string text =
      timeline_text(parsed_json(R"({"trace_id":"a\u001b","captures":[{"id":"\u001b","reason":"\u001b[2J"}],
    "processes":[{"service":"\u001b","threads":[{"tid":1,"name":"\u001b","events":[{"name":"\u001b","values":
    {"\u001b":"\u001b"}}],"system_calls":[{"name":"\u001b","error":"\u001b"}],"states":[{"state":"\u001b",
    "waker":{"name":"\u001b"}}]}]}]})"),
                    {});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(TimelineLines, SystemCallsSayWhatTheyReturned) {
  auto text = [](const std::string& call) {
    return texts_of(thread_lines(parsed_json(R"({"system_calls":[)" + call + "]}"), 0));
  };
  EXPECT_EQ(text(R"({"name":"read","arguments":["7","4096"],"result":12})"), "read(7, 4096) = 12\n");
  EXPECT_EQ(text(R"({"name":"read","arguments":["7","4096"],"result":-11,"error":"EAGAIN"})"),
            "read(7, 4096) = EAGAIN\n");
  EXPECT_EQ(text(R"({"name":"mmap","arguments":["0","139641712656111"],"result":139641712656111})"),
            "mmap(0, 0x7f00deadbeef) = 0x7f00deadbeef\n");
  EXPECT_EQ(
      text(R"({"name":"futex","arguments":["139641712656111","128"],"operation":"FUTEX_WAIT_PRIVATE","result":0})"),
      "futex(0x7f00deadbeef, FUTEX_WAIT_PRIVATE) = 0\n");
  EXPECT_EQ(text(R"({"name":"","number":999,"arguments":["0","0"],"under_way":true})"),
            "system call 999(0, 0) ... not over yet\n");
  EXPECT_EQ(text(R"({"name":"poll","arguments":["0","0"],"result":1,"begin_unknown":true})"),
            "poll(...) = 1  [begun before]\n");
}

TEST(TimelineLines, TotalsSayHowMuchWasSeen) {
  auto text = [](const std::string& totals) {
    return totals_text(parsed_json(R"({"state_totals":{)" + totals + "}}"));
  };
  EXPECT_EQ(text(R"("running_nano":4000000,"runnable_nano":6000000,"unknown_nano":40000000)"),
            "seen 10 ms of 50 ms: running 4 ms, runnable 6 ms, unknown 40 ms");
  EXPECT_EQ(text(R"("running_nano":4000000)"), "running 4 ms");
  EXPECT_EQ(text(R"("unknown_nano":4000000)"), "unknown 4 ms");
  EXPECT_EQ(text(""), "");
}

TEST(TimelineLines, TotalsSayHowMuchWasGuessed) {
  auto text = [](const std::string& totals) {
    return totals_text(parsed_json(R"({"state_totals":{)" + totals + "}}"));
  };
  EXPECT_EQ(text(R"("running_nano":320000000,"running_guessed_nano":320000000,"guessed_nano":320000000)"),
            "running 320 ms (guessed)");
  EXPECT_EQ(text(R"("running_nano":400000000,"sleeping_nano":5000000,"running_guessed_nano":120000000)"),
            "running 400 ms (120 ms of it guessed), sleeping 5 ms");
  EXPECT_EQ(text(R"("unknown_nano":681000000,"running_nano":319000000,"running_guessed_nano":319000000)"),
            "seen 319 ms of 1 s: running 319 ms (guessed), unknown 681 ms");
}

TEST(TimelineLines, ACallOfWhichItIsNotKnownWhetherItSleptSaysSo) {
  EXPECT_EQ(texts_of(thread_lines(parsed_json(R"({"system_calls":[{"name":"poll","arguments":["0","0"],"result":1,
    "duration_nano":681000000,"state_totals":{"unknown_nano":681000000}}]})"),
                                  0)),
            "poll(0, 0) = 1  unknown whether it slept for 681 ms\n");
}

TEST(TimelineText, LongDurationsStandApart) {
  const std::string text = timeline_text(parsed_json(R"({"trace_id":"ab","duration_nano":118000000000,"processes":[{
    "service":"s","threads":[{"tid":1,"offset_nano":0,"duration_nano":118000000000,"spans":[
      {"operation":"slow","span_id":"c","offset_nano":14416000,"duration_nano":118000000000},
      {"operation":"short","span_id":"d","offset_nano":15000000,"duration_nano":5000000}]}]}]})"),
                                         {});
  EXPECT_NE(text.find("+14.416 ms   1 min 58 s  slow"), std::string::npos) << text;
  EXPECT_NE(text.find("+15.000 ms         5 ms    short"), std::string::npos) << text;
}

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(TimelineLines, ManyShortWaitsAreOneSum) {
  auto text = [](const std::string& members) { return joined_lines(wait_lines(parsed_json("{" + members + "}"))); };
  const std::string timer = R"({"state":"sleeping","in":"clock_nanosleep","waker":{"interrupt":true},"count":101,)"
                            R"("total_nano":518000000,"longest_nano":6270000})";
  const std::string lock = R"({"state":"sleeping","in":"futex","waker":{"pid":7,"tid":8,"name":"holder"},"count":1,)"
                           R"("total_nano":120000000,"longest_nano":120000000,"guessed_nano":120000000})";
  const std::string disk = R"({"state":"uninterruptible","count":2,"total_nano":100000000,"longest_nano":90000000})";
  const std::string queue = R"({"state":"runnable","count":9,"total_nano":200000,"longest_nano":100000})";
  const std::string sleeps =
      "waits: sleeping 518 ms in clock_nanosleep, 101 times (longest 6.27 ms), woken by an interrupt\n";
  EXPECT_EQ(text(R"("waits":[)" + timer + "," + queue + "]"), sleeps) << "the rest is less than a tenth";
  EXPECT_EQ(text(R"("waits":[)" + timer + "," + lock + "," + disk + "," + queue + "]"),
            sleeps + "       sleeping 120 ms (guessed) in futex, woken by holder (8)\n" +
                "       uninterruptible 100 ms, 2 times (longest 90 ms)\n");
  EXPECT_EQ(text(R"("waits":[)" + timer + "," + lock + "," + disk + R"(],"more_waits":{"count":400,)" +
                 R"("total_nano":300000000})"),
            sleeps + "       sleeping 120 ms (guessed) in futex, woken by holder (8)\n" +
                "       uninterruptible 100 ms, 2 times (longest 90 ms)\n       400 more, 300 ms\n");
}

TEST(TimelineLines, WithoutSumsTheLongestWaitIsTold) {
  auto text = [](const std::string& more) {
    return joined_lines(
        wait_lines(parsed_json(R"({"longest_wait":{"state":"sleeping","duration_nano":5})" + more + "}")));
  };
  EXPECT_EQ(text(""), "waits: sleeping 5 ns\n");
  EXPECT_EQ(text(R"(,"waits_left_out":true)"), "waits: sleeping 5 ns (the longest; there are too many to add up)\n");
  EXPECT_TRUE(wait_lines(parsed_json("{}")).empty());
}

TEST(TimelineText, AThreadWithoutSpansSaysWhatItWaitedFor) {
  auto text = [](const std::string& spans) {
    return timeline_text(parsed_json(R"({"processes":[{"service":"s","threads":[{"tid":1,"spans":[)" + spans +
                                     R"(],"waits":[{"state":"sleeping","in":"futex","count":3,"total_nano":9,)"
                                     R"("longest_nano":4}]}]}]})"),
                         {});
  };
  const std::string waits = "    waits: sleeping 9 ns in futex, 3 times (longest 4 ns)\n";
  EXPECT_NE(text("").find(waits), std::string::npos) << text("");
  EXPECT_EQ(text(R"({"operation":"o"})").find(waits), std::string::npos) << "its spans say so";
}

TEST(TimelineText, AThreadSaysHowMuchOfTheWaitsItEnded) {
  const std::string text = timeline_text(parsed_json(R"({"processes":[{"service":"s","threads":[
    {"tid":1,"name":"a","state_totals":{"running_nano":5},"ended_waits_nano":780000000},{"tid":2,"name":"b"}]}]})"),
                                         {});
  EXPECT_NE(text.find("  thread 1 a: running 5 ns; ended 780 ms of the request's waits\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  thread 2 b\n"), std::string::npos) << text;
}

TEST(TimelineLines, ACallThatWaitsSeveralTimesSaysHowOften) {
  EXPECT_EQ(texts_of(thread_lines(parsed_json(R"({"system_calls":[{"name":"fsync","arguments":["3","0"],"result":0,
    "longest_wait":{"state":"uninterruptible","duration_nano":10},
    "waits":[{"state":"uninterruptible","count":3,"total_nano":30,"longest_nano":10}]}]})"),
                                  0)),
            "fsync(3, 0) = 0  uninterruptible 30 ns, 3 times (longest 10 ns)\n");
}

TEST(TimelineLines, AWaitForAProcessorSaysWhetherAQuotaMayBeTheReason) {
  auto text = [](const std::string& cause) {
    return wait_text(parsed_json(R"({"state":"runnable","duration_nano":600000,)" + cause + "}"));
  };
  EXPECT_EQ(text(R"("preempted":true)"), "runnable 600 us, preempted");
  EXPECT_EQ(text(R"("throttled":"possible")"), "runnable 600 us, preempted or throttled by a CPU quota");
  EXPECT_EQ(text(R"("throttled":"likely")"),
            "runnable 600 us, probably throttled by a CPU quota: its processor was idle");
}

TEST(TimelineLines, AnInterruptIsNobody) {
  auto text = [](const std::string& waker) {
    return wait_text(parsed_json(R"({"state":"sleeping","duration_nano":5,"waker":{)" + waker + "}}"));
  };
  EXPECT_EQ(text(R"("pid":7,"tid":8,"name":"holder")"), "sleeping 5 ns, woken by holder (8)");
  EXPECT_EQ(text(R"("interrupt":true,"name":"cc1plus")"),
            "sleeping 5 ns, woken by an interrupt (timer, disk or network) while cc1plus ran on that cpu");
  EXPECT_EQ(text(R"("interrupt":true)"), "sleeping 5 ns, woken by an interrupt");
}

TEST(TimelineLines, AWakerOfAnotherProcessNamesTheProcess) {
  auto text = [](const std::string& members) {
    return wait_text(parsed_json(R"({"state":"sleeping","duration_nano":5,"waker":{"pid":9,"tid":8,"name":"holder")" +
                                 members + "}}"));
  };
  EXPECT_EQ(text(R"(,"other_process":true,"service":"vault")"), "sleeping 5 ns, woken by holder (8) of vault (pid 9)");
  EXPECT_EQ(text(R"(,"other_process":true)"), "sleeping 5 ns, woken by holder (8) of pid 9");
}

TEST(TimelineLines, ASleepWithoutABeginningSaysSo) {
  EXPECT_EQ(wait_text(parsed_json(R"({"state":"blocked","duration_nano":5,"guessed":true,"in":"futex"})")),
            "sleeping or waiting 5 ns (beginning not seen) in futex");
  EXPECT_EQ(
      totals_text(parsed_json(R"({"state_totals":{"running_nano":3,"blocked_nano":5,"blocked_guessed_nano":5}})")),
      "running 3 ns, sleeping or waiting 5 ns (beginning not seen)");
}

TEST(TimelineText, ThatSystemCallsWereNotRecordedIsSaidOnce) {
  const auto text = [](const std::vector<std::string>& members) {
    std::string captures;
    for (const std::string& member : members) {
      captures += std::string(captures.empty() ? "" : ",") + R"({"kernel_complete_from_offset_nano":0)" + member + "}";
    }
    return timeline_text(parsed_json(R"({"captures":[)" + captures + "]}"), {});
  };
  const std::string without = R"(,"has_system_calls":false)", with = R"(,"has_system_calls":true)";
  const std::string hint = "no system calls were recorded: 'fathom capture --ahead' records them";
  const std::string neither = text({without, without});
  EXPECT_EQ(neither.find(hint), neither.rfind(hint));
  EXPECT_NE(neither.find(hint), std::string::npos) << neither;
  EXPECT_EQ(neither.find(", without system calls"), std::string::npos);
  const std::string one = text({without, with});
  EXPECT_EQ(one.find(hint), std::string::npos) << one;
  EXPECT_EQ(one.find(", without system calls"), one.rfind(", without system calls"));
  EXPECT_NE(one.find(", without system calls"), std::string::npos) << one;
  EXPECT_EQ(text({""}).find("system calls"), std::string::npos) << "an older server";
}

TEST(TimelineLines, WhatIsOfAnotherRequestSaysOfWhich) {
  ThreadLines lines =
      thread_lines(parsed_json(R"({"spans":[{"operation":"s","span_id":"a1","trace_id":"b2","offset_nano":0}],
    "events":[{"name":"e","trace_id":"c3","span_id":"d4","other_request":true,"offset_nano":1}]})"),
                   0);
  EXPECT_EQ(texts_of(lines), "s\ne  [trace c3]\n");
  EXPECT_EQ(lines.lines[0].below[0], "span a1 of trace b2");
}

TEST(TimelineLines, WhatIsWithinStandsDeeper) {
  std::string text = texts_of(thread_lines(parsed_json(R"({
    "spans":[{"operation":"outer","offset_nano":0,"duration_nano":100},
             {"operation":"inner","offset_nano":10,"duration_nano":50},
             {"operation":"next","offset_nano":60,"duration_nano":40}],
    "system_calls":[{"name":"read","offset_nano":20,"duration_nano":5}],
    "events":[{"name":"e","offset_nano":22},{"name":"f","offset_nano":59}],
    "states":[{"state":"runnable","offset_nano":30,"duration_nano":2,"preempted":true},
              {"state":"sleeping","offset_nano":21,"duration_nano":2,"in":"read"}]})"),
                                           0));
  EXPECT_EQ(text, "outer\n>inner\n>>read() = 0\n>>>e\n>>(runnable 2 ns, preempted)\n>>f\n>next\n");
}

TEST(TimelineLines, BeyondTheLimitTheShortestGoFirst) {
  std::string json = R"({"spans":[{"operation":"s","offset_nano":0,"duration_nano":100}],"events":[)"
                     R"({"name":"first","offset_nano":1},{"name":"last","offset_nano":90}],"system_calls":[)"
                     R"({"name":"short","offset_nano":2,"duration_nano":1},)"
                     R"({"name":"long","offset_nano":5,"duration_nano":50}],"page_faults":[{"offset_nano":3}]})";
  auto names = [&](size_t most) {
    ThreadLines lines = thread_lines(parsed_json(json), most);
    std::string text;
    for (const auto& line : lines.lines) text += line.text.substr(0, line.text.find('(')) + " ";
    return text + std::to_string(lines.left_out);
  };
  EXPECT_EQ(names(1), "s ... 4 more lines last 4");
  EXPECT_EQ(names(2), "s ... 3 more lines long last 3");
  EXPECT_EQ(names(3), "s first ... 2 more lines long last 2");
  EXPECT_EQ(names(4), names(0)) << "a line for one line saves none";
  EXPECT_EQ(names(0), "s first short page fault at 0x0  long last 0");
}

TEST(TimelineLines, TheFirstAndTheLastEventsStay) {
  std::string json;
  for (int i = 0; i < 10; ++i) {
    json += (i == 0 ? "" : ",") + std::string(R"({"name":"e)") + std::to_string(i) + R"(","offset_nano":)" +
            std::to_string(i) + "}";
  }
  ThreadLines lines = thread_lines(parsed_json(R"({"events":[)" + json + "]}"), 5);
  EXPECT_EQ(texts_of(lines), "e0\ne1\n... 5 more lines\ne7\ne8\ne9\n");
  EXPECT_EQ(lines.lines[2].offset_nano, 2);
  EXPECT_EQ(lines.lines[2].duration_nano, 4u);
  EXPECT_EQ(lines.left_out, 5u);
}

TEST(TimelineLines, WhatTheServerLeftOutStandsWhereItWas) {
  std::string text = texts_of(thread_lines(parsed_json(R"({
    "events":[{"name":"first","offset_nano":1},{"name":"last","offset_nano":9}],
    "gaps":[{"items":"system_calls","count":1200,"offset_nano":2,"duration_nano":5}]})"),
                                           1));
  EXPECT_EQ(text, "first\n... 1,200 more system calls\nlast\n");
}

TEST(TimelineLines, PageFaultsThatNothingComesBetweenAreOneLine) {
  ThreadLines lines = thread_lines(parsed_json(R"({
    "spans":[{"operation":"s","offset_nano":0,"duration_nano":100}],
    "events":[{"name":"e","offset_nano":30}],
    "page_faults":[{"offset_nano":10,"address":"4096","write":true},{"offset_nano":20,"address":"16384"},
                   {"offset_nano":25,"address":"8192"},{"offset_nano":40,"address":"4096"},
                   {"offset_nano":200,"address":"4096"}]})"),
                                   0);
  EXPECT_EQ(texts_of(lines),
            "s\n>3 page faults at 0x1000 to 0x4000 (1 of them writes)\n>e\n>page fault at 0x1000 (read)\n"
            "page fault at 0x1000 (read)\n");
  EXPECT_EQ(lines.lines[1].duration_nano, 15u);
}

TEST(TimelineLines, OffsetsAreAllOfOneUnit) {
  EXPECT_EQ(offset_text(-1'500'000, OffsetDigits::kMicros), "-1.500 ms");
  EXPECT_EQ(offset_text(1'650'312'999, OffsetDigits::kMicros), "+1650.312 ms");
  EXPECT_EQ(offset_text(3'017, OffsetDigits::kNanos), "+0.003017 ms");
  EXPECT_EQ(offset_text(INT64_MIN, OffsetDigits::kMicros).substr(0, 1), "-");
  EXPECT_EQ(offset_text(0, offset_digits(10'000'000)), "+0.000 ms");
  EXPECT_EQ(offset_text(0, offset_digits(9'999'999)), "+0.000000 ms");
}

}  // namespace
}  // namespace fathom::cli
