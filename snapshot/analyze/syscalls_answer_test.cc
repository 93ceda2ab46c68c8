#include "snapshot/analyze/syscalls_answer.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "snapshot/analyze/testing/sample_run.h"

namespace fathom::snapshot {
namespace {

Question syscalls(Format format = Format::kJson) {
  Question question;
  question.verb = Verb::kSyscalls;
  question.format = format;
  return question;
}

// The code puts 39 into eax.
constexpr char kByCode[] = "getpid";

class SyscallsAnswer : public testing::Test {
 protected:
  boost::json::value ask() { return boost::json::parse(run_.answer_to(syscalls())); }
  static const boost::json::value& call(const boost::json::value& answer, std::string_view name) {
    for (const auto& call : answer.at("calls").as_array()) {
      if (call.at("call").as_string() == name) return call;
    }
    ADD_FAILURE() << "no call " << name << " in " << answer;
    static const boost::json::value kNone;
    return kNone;
  }
  void written_down(uint64_t tsc, uint64_t number) {
    Sideband row;
    row.kind = SidebandKind::kSystemCall;
    row.tid = 43;
    row.tsc = tsc;
    row.length = number;
    run_.snapshot().sideband.push_back(row);
  }

  SampleRun run_;
};

TEST_F(SyscallsAnswer, TableJsonPicture) {
  for (int i = 0; i < 10; ++i) run_.run_plain();
  run_.interrupt_next_call();
  run_.run_plain();
  run_.finish();
  expect_golden("syscalls.txt", run_.answer_to(syscalls(Format::kTable)));
  expect_golden("syscalls.json", run_.answer_to(syscalls()));
  expect_golden("syscalls.svg", run_.answer_to(syscalls(Format::kSvg)));
}

TEST_F(SyscallsAnswer, NamedByTheCodeAndTimed) {
  for (int i = 0; i < 10; ++i) run_.run_plain();
  run_.finish();
  const auto answer = ask();
  const auto& calls = call(answer, kByCode);
  EXPECT_EQ(calls.at("count").as_int64(), 20);
  EXPECT_EQ(calls.at("interrupted").as_int64(), 0);
  EXPECT_EQ(calls.at("latency").at("min").as_int64(), 500);  // 1000 ticks
  EXPECT_EQ(answer.at("unfinished").as_int64(), 0);
}

TEST_F(SyscallsAnswer, NamedByWhatWasWrittenDown) {
  run_.run_plain();
  const uint64_t between = run_.builder().tsc();
  run_.run_plain();
  written_down(between - 600, 1);
  run_.finish();
  const auto answer = ask();
  EXPECT_EQ(call(answer, "write").at("count").as_int64(), 1);
  EXPECT_EQ(call(answer, kByCode).at("count").as_int64(), 3);
}

TEST_F(SyscallsAnswer, ASignalInterrupts) {
  run_.interrupt_next_call();
  run_.run_plain();
  run_.finish();
  EXPECT_EQ(call(ask(), kByCode).at("interrupted").as_int64(), 1);
  EXPECT_EQ(call(ask(), kByCode).at("count").as_int64(), 2);
}

TEST_F(SyscallsAnswer, OneThatDoesNotEndIsSaid) {
  run_.run_plain();
  auto& builder = run_.builder();
  builder.disable();
  builder.enable(kOutside + 1);
  builder.step({kOutside + 1, 5, Op::kPlain, 0});
  builder.step_system_call({kOutside + 6, 2, Op::kSystemCall, 0});
  run_.finish();
  EXPECT_EQ(ask().at("unfinished").as_int64(), 1);
}

// The kernel's code may be recorded too: a call lasts until user code runs.
TEST(SyscallsAnswerWithoutTime, TellsNone) {
  SampleRun run({.tsc = false});
  run.run_plain();
  run.finish();
  for (const Format format : {Format::kTable, Format::kSvg}) {
    const std::string text = run.answer_to(syscalls(format));
    EXPECT_NE(text.find(kByCode), std::string::npos) << text;
    EXPECT_EQ(text.find("0 ns"), std::string::npos) << text;
  }
}

TEST_F(SyscallsAnswer, WorksAcrossParts) {
  SampleRun cut({.psb_bytes = 512, .cyc = true});
  for (int i = 0; i < 6000; ++i) {
    run_.run_plain();
    cut.run_plain();
  }
  run_.finish();
  cut.finish();
  const auto whole = ask();
  const auto parts = boost::json::parse(cut.answer_to(syscalls()));
  EXPECT_EQ(call(whole, kByCode).at("count").as_int64(), 12000);
  EXPECT_EQ(call(parts, kByCode).at("count").as_int64(), 12000);
  EXPECT_EQ(parts.at("unfinished").as_int64(), 0);
  EXPECT_EQ(parts.at("cut").as_int64(), 0);
}

}  // namespace
}  // namespace fathom::snapshot
