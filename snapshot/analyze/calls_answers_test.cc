// The answers that are built on call stacks, from flow made by hand, against golden texts.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>

#include "snapshot/analyze/calls_answer.h"
#include "snapshot/analyze/diff_answer.h"
#include "snapshot/analyze/functions_answer.h"
#include "snapshot/analyze/perfetto_answer.h"
#include "snapshot/analyze/pprof_answer.h"
#include "snapshot/analyze/sunburst_answer.h"
#include "snapshot/analyze/testing/sample_run.h"
#include "snapshot/decode/testing/call_text.h"
#include "snapshot/decode/testing/scripted_extents.h"

namespace fathom::snapshot {
namespace {

constexpr uint64_t kMain = 0x1000, kWork = 0x2000, kLock = 0x3000, kTracer = 0x4000;

std::string test_name(const CallFunction& function) {
  if (function.gap != GapReason::kNone) return "[gap: " + std::string(gap_reason_name(function.gap)) + "]";
  switch (function.begin) {
    case kMain:
      return "main";
    case kWork:
      return "shop::work(std::vector<int> const&)";
    case kLock:
      return "pthread_mutex_lock";
    default:
      return "tracer";
  }
}

class CallsAnswers : public testing::Test {
 protected:
  CallsAnswers() {
    for (uint64_t at : {kMain, kWork, kLock, kTracer}) extents_.add(at, 0x100);
    snapshot_.timing = {0, 0, 0, 0, 1000, 1u << 31, 30};  // two nanoseconds a tick
  }

  struct Pace {
    uint64_t block_ticks = 500;
    uint64_t wait_ticks = 500'000;
    uint64_t else_ticks = 100;  // of each other wait; a tenth of it is the entry into the kernel
  };
  // main calls work, as often as that; each takes the lock, and waits for it once. `traced`: through a tracer.
  std::unique_ptr<CallStacks> run(int rounds, bool traced) { return run(rounds, traced, Pace()); }
  std::unique_ptr<CallStacks> run(int rounds, bool traced, Pace pace) {
    CallOptions options;
    options.latencies = true;
    options.most_slices = 1000;
    auto stacks = std::make_unique<CallStacks>(snapshot_, extents_, options);
    std::vector<FlowItem> items{thread_item(42, 43, 1000)};
    uint64_t tsc = 1000;
    auto block = [&](uint64_t ip, uint64_t to, uint32_t count, BlockEnd end) {
      items.push_back(block_item(ip, to, count, end, tsc += pace.block_ticks));
    };
    for (int i = 0; i < rounds; ++i) {
      block(kMain, kMain + 16, 10, BlockEnd::kCall);
      if (traced) {
        block(kWork, kWork + 4, 3, BlockEnd::kCall);
        block(kTracer, kTracer + 4, 40, BlockEnd::kReturn);
        block(kWork + 9, kWork + 14, 2, BlockEnd::kCall);
      } else {
        block(kWork, kWork + 14, 5, BlockEnd::kCall);
      }
      block(kLock, kLock + 4, 7, BlockEnd::kFarCall);
      items.push_back(event_item(FlowKind::kPause, 0, 0, tsc += pace.else_ticks / 10));
      items.push_back(event_item(FlowKind::kResume, kLock + 6, 0, tsc += i == 1 ? pace.wait_ticks : pace.else_ticks));
      block(kLock + 6, kLock + 9, 2, BlockEnd::kReturn);
      block(kWork + 19, kWork + 24, 5, BlockEnd::kReturn);
      block(kMain + 21, kMain + 40, 4, BlockEnd::kJump);
    }
    items.push_back(event_item(FlowKind::kGap, 0, 0, tsc += pace.else_ticks / 20, GapReason::kOverflow));
    block(kLock + 20, kLock + 24, 3, BlockEnd::kOther);
    auto part = stacks->part(0);
    part->take(items);
    stacks->merge(std::move(part));
    stacks->finish();
    return stacks;
  }
  static NamedCalls named(const CallStacks& stacks, bool by_thread, CallRank rank = CallRank::kInstructions) {
    ThreadNames threads;
    if (by_thread) threads = [](const ThreadKey& key) { return "thread " + std::to_string(key.tid); };
    return name_calls(stacks.threads(), test_name, threads, {}, rank);
  }
  // The first of a function's callees.
  static std::string first_below(const NamedCalls& calls, const std::string& below) {
    for (const CallRow& row : calls.rows) {
      if (row.depth > 0 && calls.rows[row.parent].name.starts_with(below)) return row.name;
    }
    return "";
  }
  TraceTime time() const { return TraceTime(snapshot_.timing); }

  // The member `write` adds, as JSON that is parsed, and printed a row per line.
  template <typename Write>
  static std::string json_text(Write write) {
    std::string text;
    net::JsonWriter json(text);
    json.begin_object();
    write(json);
    json.end_object();
    boost::json::error_code fault;
    boost::json::parse(text, fault);
    EXPECT_FALSE(fault) << text;
    std::string lines;
    for (size_t at = 0; at < text.size(); ++at) {
      if (text.compare(at, 5, "{\"id\"") == 0 || text.compare(at, 7, "{\"name\"") == 0) lines += "\n";
      lines += text[at];
    }
    return lines + "\n";
  }

  ScriptedExtents extents_;
  Snapshot snapshot_;
};

TEST_F(CallsAnswers, CallsAreATreeWithTimes) {
  auto stacks = run(4, false);
  const NamedCalls calls = named(*stacks, true, CallRank::kTime);
  expect_golden("calls_table.txt", calls_table(calls, time(), 0));
  expect_golden("calls_limited.txt", calls_table(calls, time(), 3));
  expect_golden("calls.json.txt", json_text([&](net::JsonWriter& json) { calls_json(json, calls, time(), 0); }));
  expect_golden("calls.svg", calls_svg(named(*stacks, true), time(), "engine: step"));
}

// The tracer runs four times as many instructions as the lock, but the lock sleeps.
TEST_F(CallsAnswers, WhatTookTheTimeComesFirst) {
  auto stacks = run(4, true);
  const NamedCalls by_instructions = named(*stacks, true), by_time = named(*stacks, true, CallRank::kTime);
  EXPECT_EQ(first_below(by_instructions, "shop::work"), "tracer");
  EXPECT_EQ(first_below(by_time, "shop::work"), "pthread_mutex_lock");
  EXPECT_EQ(by_time.rank, CallRank::kTime);
  const auto is_shown = [](const NamedCalls& calls, const std::string& name) {
    const std::string table = calls_table(calls, TraceTime(Timing{}), 5);
    return table.find("  " + name + "\n") != std::string::npos;
  };
  EXPECT_TRUE(is_shown(by_time, "pthread_mutex_lock"));
  EXPECT_FALSE(is_shown(by_time, "tracer"));
  EXPECT_TRUE(is_shown(by_instructions, "tracer"));
  EXPECT_NE(calls_svg(by_time, time(), "").find("width=\"1171.6\""), std::string::npos) << "of 1200, the lock";
}

TEST_F(CallsAnswers, WithoutTimesInstructionsDecide) {
  auto stacks = run(4, true, {0, 0, 0});
  const NamedCalls calls = named(*stacks, true, CallRank::kTime);
  EXPECT_EQ(calls.rank, CallRank::kInstructions);
  EXPECT_EQ(first_below(calls, "shop::work"), "tracer");
  EXPECT_EQ(rank_line(calls.rank, false), "ranked by instructions: the snapshot has no times\n");
  EXPECT_EQ(rank_line(calls.rank, true), "ranked by instructions\n");
  const std::string json = json_text([&](net::JsonWriter& out) { calls_json(out, calls, time(), 0); });
  EXPECT_TRUE(json.starts_with("{\"ranked_by\":\"instructions\"")) << json;
}

TEST_F(CallsAnswers, TheDynamicLinkersWorkIsLabelled) {
  auto stacks = run(4, true);
  const auto name = [](const CallFunction& function) {
    return function.begin == kTracer ? "_dl_runtime_resolve_xsavec" : test_name(function);
  };
  const NamedCalls calls = name_calls(stacks->threads(), name, {});
  EXPECT_NE(calls_table(calls, time(), 0).find("_dl_runtime_resolve_xsavec (lazy binding)\n"), std::string::npos);
  const std::string json = json_text([&](net::JsonWriter& out) { calls_json(out, calls, time(), 0); });
  const std::string label = "\"lazy_binding\":true";
  EXPECT_NE(json.find("\"_dl_runtime_resolve_xsavec\",\"kind\":\"function\"," + label), std::string::npos) << json;
  EXPECT_EQ(json.find(label), json.rfind(label));
}

// However much the others ran: of a few rows, half are the foremost thread's.
TEST_F(CallsAnswers, ForemostThreadsComeFirst) {
  auto busy = run(9, false);
  auto waiting = run(2, false);
  std::vector<ThreadCalls> threads = busy->threads();
  threads.push_back(waiting->threads().front());
  threads.back().key.tid = 99;
  const ThreadNames names = [](const ThreadKey& key) { return "thread " + std::to_string(key.tid); };
  const auto first_of = [&](const std::vector<int32_t>& foremost) {
    return name_calls(threads, test_name, names, foremost).rows[1].name;
  };
  EXPECT_NE(first_of({}), "thread 99");
  EXPECT_EQ(first_of({7, 99}), "thread 99") << "thread 7 did not run";
  EXPECT_EQ(first_of({threads.front().key.tid, 99}), first_of({}));
  const NamedCalls calls = name_calls(threads, test_name, names, {99});
  const std::vector<bool> chosen = greatest_rows(calls, 6);
  EXPECT_EQ(std::count(chosen.begin(), chosen.begin() + calls.rows[1].end, true), 3) << "everything, and two of it";
  EXPECT_EQ(std::count(chosen.begin(), chosen.end(), true), 6);
}

// Who called nobody has the line where it ran, beside the one that called it.
TEST_F(CallsAnswers, LeavesHaveTheLineWhereTheyRan) {
  auto stacks = run(4, false);
  const NamedCalls calls = named(*stacks, true);
  const CallLines lines = [](const CallRow& row) {
    return row.function == nullptr ? RowLines{} : RowLines{{"caller.cc:1", "f(a & b);"}, {"own.cc:2", ""}};
  };
  size_t leaves = 0, others = 0;
  const std::string table = calls_table(calls, time(), 0, lines);
  for (size_t i = 0; i < calls.rows.size(); ++i) {
    const CallRow& row = calls.rows[i];
    if (row.function == nullptr || row.is_gap) continue;
    (row.end == i + 1 && row.self.instructions > 0 ? leaves : others)++;
  }
  const auto count = [&](const std::string& text) {
    size_t found = 0;
    for (size_t at = 0; (at = table.find(text, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  EXPECT_GT(leaves, 0U);
  EXPECT_EQ(count("(caller.cc:1: f(a & b); itself at own.cc:2)"), leaves) << table;
  EXPECT_GE(count("(caller.cc:1: f(a & b);)"), others) << table;
  const std::string json = json_text([&](net::JsonWriter& out) { calls_json(out, calls, time(), 0, lines); });
  EXPECT_NE(json.find("\"self_line\":\"own.cc:2\""), std::string::npos);
  EXPECT_NE(json.find("\"called_from_line\":\"caller.cc:1\",\"called_from_source\":\"f(a & b);\""), std::string::npos);
  EXPECT_EQ(json.find("self_source"), std::string::npos);
}

TEST_F(CallsAnswers, FunctionsHaveLatencies) {
  auto stacks = run(100, false);
  const auto rows = function_rows(named(*stacks, false), stacks->latencies(), test_name);
  expect_golden("functions_table.txt", functions_table(rows, time(), 0));
  expect_golden("functions.json.txt", json_text([&](net::JsonWriter& json) { functions_json(json, rows, time(), 2); }));
  expect_golden("functions.svg", functions_svg(rows, time(), 0, "engine: step"));
}

TEST_F(CallsAnswers, ASunburstIsByInstructions) {
  auto stacks = run(4, true);
  const NamedCalls calls = named(*stacks, false);
  EXPECT_TRUE(sunburst_table(calls, 2).ends_with("more with fewer instructions; --limit 0 shows all\n"));
  expect_golden("sunburst_table.txt", sunburst_table(calls, 0));
  expect_golden("sunburst.json.txt", json_text([&](net::JsonWriter& json) { sunburst_json(json, calls, 0); }));
  expect_golden("sunburst.svg", sunburst_svg(calls, "engine: step"));
}

TEST_F(CallsAnswers, ADifferenceSaysWhatATracerAdds) {
  auto without = run(4, false), with = run(4, true);
  const CallDifference difference = difference_of(named(*without, false), time(), named(*with, false), time());
  EXPECT_EQ(difference.paths_added, 1u);
  EXPECT_EQ(difference.calls_added, 4u);
  EXPECT_EQ(difference.rows[0].instructions(), 160);
  expect_golden("diff_table.txt", diff_table(difference, time(), 0));
  expect_golden("diff.json.txt", json_text([&](net::JsonWriter& json) { diff_json(json, difference, 0); }));
  expect_golden("diff.svg", diff_svg(difference, time(), "engine: step"));
  const CallDifference none = difference_of(named(*with, false), time(), named(*with, false), time());
  EXPECT_NE(diff_table(none, time(), 0).find("no path differs"), std::string::npos);
}

TEST_F(CallsAnswers, ADifferenceIsOfTimeToo) {
  auto fast = run(4, false), slow = run(4, false, {600, 900'000});
  const CallDifference difference = difference_of(named(*fast, false), time(), named(*slow, false), time());
  ASSERT_TRUE(difference.timed);
  EXPECT_EQ(difference.rows[0].instructions(), 0);
  expect_golden("diff_time_table.txt", diff_table(difference, time(), 0));
  expect_golden("diff_time.svg", diff_svg(difference, time(), "engine: step"));
  const std::string json = json_text([&](net::JsonWriter& out) { diff_json(out, difference, 0); });
  EXPECT_NE(json.find("\"name\":\"pthread_mutex_lock\",\"change\":\"changed\""), std::string::npos) << json;
}

TEST_F(CallsAnswers, WhereClocksAreOfDifferentUnitsInstructionsAloneAreCompared) {
  auto fast = run(4, false), slow = run(4, true, {600, 900'000});
  const TraceTime ticks{Timing{}};
  ASSERT_NE(ticks.unit(), time().unit());
  const CallDifference difference = difference_of(named(*fast, false), ticks, named(*slow, false), time());
  EXPECT_FALSE(difference.timed);
  const std::string table = diff_table(difference, time(), 0);
  EXPECT_NE(table.find("time: not compared"), std::string::npos) << table;
  EXPECT_EQ(table.find("pthread_mutex_lock"), std::string::npos) << "it differs in time alone\n" << table;
  const std::string json = json_text([&](net::JsonWriter& out) { diff_json(out, difference, 0); });
  EXPECT_EQ(json.find("total_time"), std::string::npos);
}

TEST_F(CallsAnswers, ALimitedDifferenceKeepsThePathsToWhatChangedMost) {
  auto fast = run(4, false), slow = run(4, true, {600, 900'000});
  const CallDifference difference = difference_of(named(*fast, false), time(), named(*slow, false), time());
  const std::vector<bool> all = different_rows(difference, 0), three = different_rows(difference, 3);
  EXPECT_EQ(std::ranges::count(three, true), 4) << "and the root";
  for (size_t i = 1; i < three.size(); ++i) {
    EXPECT_TRUE(all[i] || difference.rows[i].same()) << difference.rows[i].name;
    EXPECT_TRUE(!three[i] || three[difference.rows[i].parent]) << difference.rows[i].name;
  }
  EXPECT_NE(diff_table(difference, time(), 3).find("more that differ less"), std::string::npos);
}

TEST_F(CallsAnswers, SlicesNestAndEnd) {
  auto stacks = run(2, false);
  std::string text;
  size_t depth = 0;
  for (const ThreadSlice& slice : balanced_slices(*stacks->threads()[0].slices, 999'999)) {
    if (slice.function == nullptr) {
      ASSERT_GT(depth--, 0u);
    }
    text += std::string(depth * 2, ' ') + std::to_string(slice.tsc) + " " +
            (slice.function == nullptr ? "end" : test_name(*slice.function)) + "\n";
    if (slice.function != nullptr) ++depth;
  }
  EXPECT_EQ(depth, 0u);
  expect_golden("slices.txt", text);
}

TEST_F(CallsAnswers, CallersThatAreDiscoveredLaterBeginFirst) {
  auto stacks = std::make_unique<CallStacks>(snapshot_, extents_, CallOptions{-1, false, 100});
  const std::vector<FlowItem> items{thread_item(1, 1, 90), block_item(kLock, kLock + 4, 1, BlockEnd::kReturn, 100),
                                    block_item(kWork + 8, kWork + 12, 1, BlockEnd::kReturn, 200),
                                    block_item(kMain + 8, kMain + 12, 1, BlockEnd::kOther, 300)};
  auto part = stacks->part(0);
  part->take(items);
  stacks->merge(std::move(part));
  stacks->finish();
  std::string text;
  for (const ThreadSlice& slice : balanced_slices(*stacks->threads()[0].slices, 400)) {
    text +=
        std::to_string(slice.tsc) + (slice.function == nullptr ? " end\n" : " " + test_name(*slice.function) + "\n");
  }
  EXPECT_EQ(text,
            "100 main\n100 shop::work(std::vector<int> const&)\n100 pthread_mutex_lock\n"
            "200 end\n300 end\n300 end\n");
}

TEST_F(CallsAnswers, APprofProfileIsWhatTheGoldenSays) {
  auto stacks = run(2, false);
  const FunctionLines lines = [](const CallFunction& function) {
    return SourceLine{"shop.cc", static_cast<uint32_t>(function.begin >> 12)};
  };
  const std::string profile =
      pprof_profile(named(*stacks, true), time(), lines, {{"engine: step"}, 1'700'000'000'000'000'000});
  std::string hex;
  for (size_t i = 0; i < profile.size(); ++i) {
    const std::string digits = hex_text(static_cast<uint8_t>(profile[i]));
    hex += (digits.size() < 2 ? "0" : "") + digits + (i % 32 == 31 ? "\n" : "");
  }
  expect_golden("pprof.hex.txt", hex + "\n");
}

}  // namespace
}  // namespace fathom::snapshot
