// A snapshot that is open, asked by lines: its answers beside those of `fathom snapshot insns` and `calls`.
#include "snapshot/view/snapshot_view.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/testing/repetitions.h"
#include "snapshot/analyze/testing/sample_run.h"
#include "snapshot/decode/testing/decoded.h"
#include "snapshot/decode/testing/walk.h"
#include "snapshot/format/snapshot_file.h"

namespace fathom::snapshot {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;

std::string hex_of(std::string_view text) {
  std::string hex;
  for (const char c : text) {
    for (const int digit : {c >> 4 & 15, c & 15}) hex += "0123456789abcdef"[digit];
  }
  return hex;
}

class Asked {
 public:
  explicit Asked(const SnapshotDirectory& directory, const ViewLimits& limits = {}) {
    auto ids = directory.list();
    EXPECT_TRUE(ids.ok());
    auto view = SnapshotView::open(directory, ids->front(), limits);
    EXPECT_TRUE(view.ok()) << view.error().message;
    view_ = *std::move(view);
  }
  Result<std::string> text(const std::string& line) const {
    auto ask = parse_view_ask(line);
    if (!ask) return ask.error();
    return view_->answer(*ask);
  }
  object operator()(const std::string& line) const {
    auto answer = text(line);
    EXPECT_TRUE(answer.ok()) << line << ": " << answer.error().message;
    return answer ? boost::json::parse(*answer).as_object() : object();
  }
  const SnapshotView& view() const { return *view_; }

 private:
  std::unique_ptr<SnapshotView> view_;
};

int64_t number(const value& from, std::string_view key) {
  return from.at(key).to_number<int64_t>();
}
std::string name(const object& answer, const value& call) {
  return std::string(answer.at("functions").at(static_cast<size_t>(number(call, "function"))).at("name").as_string());
}

class SnapshotViewTest : public testing::Test {
 protected:
  Asked asked(const ViewLimits& limits = {}) {
    run_.finish();
    return Asked(run_.directory(), limits);
  }
  array list() const {
    Question question;
    question.verb = Verb::kInsns;
    question.format = Format::kJson;
    return boost::json::parse(run_.answer_to(question)).at("rows").as_array();
  }

  SampleRun run_;
};

TEST_F(SnapshotViewTest, SaysWhatThereIs) {
  run_.run_plain();
  run_.builder().overflow(kSampleBase + 0x3d6);
  run_.run_plain();
  const Asked ask = asked();
  const object all = ask("threads");
  EXPECT_EQ(all.at("instructions").to_number<uint64_t>(), run_.instructions());
  EXPECT_EQ(all.at("unit").as_string(), "ns");
  EXPECT_EQ(number(all, "gaps"), 1);
  EXPECT_EQ(all.at("gap_reasons").at(0).at("reason").as_string(), "overflow");
  ASSERT_EQ(all.at("threads").as_array().size(), 1u);
  const value& thread = all.at("threads").at(0);
  EXPECT_EQ(number(thread, "instructions"), static_cast<int64_t>(run_.instructions()));
  EXPECT_GT(number(thread, "rows"), number(thread, "instructions"));
  EXPECT_EQ(number(thread, "start"), 0);
  EXPECT_GT(number(thread, "end"), 0);
  EXPECT_GE(number(thread, "depths"), 3);
}

TEST_F(SnapshotViewTest, TheListIsThatOfInsns) {
  run_.run_plain();
  run_.builder().overflow(kSampleBase + 0x3d6);
  run_.run_plain();
  const Asked ask = asked();
  const array expected = list();
  const object answer = ask("insns thread=0 row=0 count=500");
  const array& rows = answer.at("rows").as_array();
  ASSERT_EQ(number(answer, "total_rows"), static_cast<int64_t>(expected.size()));
  ASSERT_EQ(rows.size(), expected.size());
  int64_t last = INT64_MIN;
  for (size_t i = 0; i < rows.size(); ++i) {
    const object& row = rows[i].as_object();
    const object& wanted = expected[i].as_object();
    EXPECT_EQ(number(row, "row"), static_cast<int64_t>(i));
    EXPECT_GE(number(row, "offset"), last);
    last = number(row, "offset");
    if (wanted.contains("address")) {
      EXPECT_EQ(row.at("address"), wanted.at("address"));
    }
    if (!wanted.contains("instruction")) {
      EXPECT_EQ(row.at("kind"), wanted.at("event"));
      continue;
    }
    EXPECT_EQ(row.at("text"), wanted.at("instruction"));
    if (!row.contains("time_guessed")) {
      EXPECT_EQ(number(row, "offset"), number(wanted, "time"));
    }
    ASSERT_EQ(row.contains("line"), wanted.contains("line"));
    if (row.contains("line")) {
      EXPECT_EQ(row.at("file"), wanted.at("file"));
    }
    if (wanted.contains("symbol")) {
      EXPECT_EQ(name(answer, row), std::string_view(wanted.at("symbol").as_string()));
      EXPECT_EQ(number(row, "function_offset"), number(wanted, "offset"));
    }
  }
}

TEST_F(SnapshotViewTest, PiecesOfTheListAreTheListAndTimesLeadToRows) {
  for (int i = 0; i < 20; ++i) run_.run_plain();
  const Asked ask = asked();
  const int64_t total = number(ask("insns thread=0 count=1"), "total_rows");
  std::vector<int64_t> offsets;
  for (int64_t first = 0; first < total; first += 37) {
    const object piece = ask("insns thread=0 count=37 row=" + std::to_string(first));
    EXPECT_EQ(number(piece, "first_row"), first);
    for (const value& row : piece.at("rows").as_array()) {
      ASSERT_EQ(number(row, "row"), static_cast<int64_t>(offsets.size()));
      offsets.push_back(number(row, "offset"));
    }
  }
  ASSERT_EQ(offsets.size(), static_cast<size_t>(total));
  for (int64_t at = -3; at < offsets.back() + 3; at += static_cast<int64_t>(repetition_stride())) {
    const auto later = std::ranges::upper_bound(offsets, at);
    const int64_t expected = later == offsets.begin() ? 0 : later - offsets.begin() - 1;
    const object found = ask("insns thread=0 count=10 at=" + std::to_string(at));
    ASSERT_EQ(number(found, "at_row"), expected) << at;
    ASSERT_LE(number(found, "first_row"), expected);
  }
  EXPECT_TRUE(ask("insns thread=0 row=4000000000").at("rows").as_array().empty());
}

TEST_F(SnapshotViewTest, CallsStacksAndNeighbours) {
  run_.run_plain();
  run_.run_plain();
  const Asked ask = asked();
  const object all = ask("calls thread=0 columns=4000");
  std::vector<std::string> names;
  for (const value& call : all.at("calls").as_array()) names.push_back(name(all, call));
  EXPECT_NE(std::ranges::find(names, "shop::helper(int)"), names.end()) << boost::json::serialize(all);
  EXPECT_TRUE(all.at("merged").as_array().empty()) << boost::json::serialize(all);
  const object found = ask("find thread=0 row=0 function=" + hex_of("HELPER"));
  const object stack = ask("stack thread=0 row=" + std::to_string(number(found, "row")));
  const array& calls = stack.at("calls").as_array();
  ASSERT_GE(calls.size(), 3u);
  EXPECT_EQ(name(stack, calls.back()), "shop::helper(int)");
  EXPECT_EQ(number(calls.back(), "first_row"), number(found, "row"));
  EXPECT_TRUE(calls.back().as_object().contains("called_from"));
  EXPECT_EQ(number(stack.at("inner"), "depth"), number(calls.back(), "depth") + 1);
  const object outer = ask("stack thread=0 depth=1 row=" + std::to_string(number(found, "row")));
  EXPECT_EQ(number(outer.at("inner"), "depth"), 2);
  const int64_t again =
      number(ask("find thread=0 function=" + hex_of("helper") + " row=" + std::to_string(number(found, "row"))), "row");
  EXPECT_GT(again, number(found, "row"));
  EXPECT_EQ(
      number(ask("find thread=0 backwards=true function=" + hex_of("helper") + " row=" + std::to_string(again)), "row"),
      number(found, "row"));
  EXPECT_FALSE(ask("find thread=0 row=0 function=" + hex_of("nobody")).contains("row"));
}

TEST_F(SnapshotViewTest, FindsInstructionsBothWays) {
  for (int i = 0; i < 3; ++i) run_.run_plain();
  const Asked ask = asked();
  std::vector<int64_t> expected;
  const object whole = ask("insns thread=0 count=500");
  for (const value& row : whole.at("rows").as_array()) {
    if (std::string_view(row.at("text").as_string()).find("call") != std::string_view::npos)
      expected.push_back(number(row, "row"));
  }
  ASSERT_GT(expected.size(), 5u);
  std::vector<int64_t> forwards, backwards;
  const auto next = [&](int64_t row, const std::string& more) {
    return ask("find thread=0 text=" + hex_of("CALL") + " row=" + std::to_string(row) + more);
  };
  for (object at = next(0, ""); at.contains("row"); at = next(number(at, "row"), "")) {
    forwards.push_back(number(at, "row"));
  }
  const int64_t end = number(whole, "total_rows") - 1;
  for (object at = next(end, " backwards=true"); at.contains("row"); at = next(number(at, "row"), " backwards=true")) {
    backwards.insert(backwards.begin(), number(at, "row"));
  }
  if (!expected.empty() && expected.front() == 0) expected.erase(expected.begin());
  EXPECT_EQ(forwards, expected);
  EXPECT_EQ(backwards.back(), expected.back());
  EXPECT_EQ(backwards.size(), expected.size());
}

TEST_F(SnapshotViewTest, RowsAreAnAxis) {
  run_.run_plain();
  const Asked ask = asked();
  const object rows = ask("calls thread=0 axis=rows from=0 to=1000 columns=1000");
  EXPECT_EQ(rows.at("unit").as_string(), "rows");
  for (const value& call : rows.at("calls").as_array()) {
    EXPECT_EQ(number(call, "start"), number(call, "first_row"));
    EXPECT_EQ(number(call, "end"), number(call, "last_row") + 1);
  }
}

TEST(SnapshotViewWithoutTime, RowsStandForTime) {
  SampleRun run(StreamOptions{.tsc = false});
  run.run_plain();
  run.finish();
  const Asked ask(run.directory());
  const object all = ask("threads");
  EXPECT_EQ(all.at("unit").as_string(), "rows");
  EXPECT_EQ(number(all.at("threads").at(0), "end"), number(all.at("threads").at(0), "rows") - 1);
  const object calls = ask("calls thread=0");
  EXPECT_EQ(calls.at("unit").as_string(), "rows");
  EXPECT_FALSE(calls.at("calls").as_array().empty());
  EXPECT_EQ(number(ask("insns thread=0 at=7"), "at_row"), 7);
}

TEST_F(SnapshotViewTest, WhatTakesTooMuchIsLeftOutAndCounted) {
  for (int i = 0; i < 50; ++i) run_.run_plain();
  const Asked ask = asked({.most_items = 116, .most_calls = 10});
  const object all = ask("threads");
  EXPECT_GT(number(all, "left_out_rows"), 1000);
  EXPECT_GT(number(all, "left_out_calls"), 0);
  const int64_t rows = number(all.at("threads").at(0), "rows");
  EXPECT_GT(rows, 50);
  EXPECT_EQ(number(ask("insns thread=0 row=0 count=500"), "total_rows"), rows);
  ask("calls thread=0 columns=100");
}

TEST_F(SnapshotViewTest, MistakesAreNamed) {
  run_.run_plain();
  const Asked ask = asked();
  const auto refusal = [&](const std::string& line, ErrorCode code) {
    auto answer = ask.text(line);
    EXPECT_FALSE(answer.ok()) << line;
    EXPECT_EQ(answer.error().code, code) << line;
    return answer.ok() ? std::string() : answer.error().message;
  };
  EXPECT_NE(refusal("insns thread=7", ErrorCode::kNotFound).find("thread 7"), std::string::npos);
  refusal("source text=2f6574632f706173737764", ErrorCode::kNotFound);
  refusal("source", ErrorCode::kInvalid);
  EXPECT_NE(refusal("stack thread=0 row=99999", ErrorCode::kNotFound).find("99999"), std::string::npos);
  EXPECT_NE(refusal("calls thread=0 from=9 to=8", ErrorCode::kInvalid).find("'from'"), std::string::npos);
  for (const char* line : {"", "sing", "calls colour=red", "calls thread", "calls thread=", "calls thread=-1",
                           "calls columns=0", "calls columns=5000", "insns count=501", "insns at=9007199254740992",
                           "calls axis=depth", "find thread=0", "find thread=0 text=6 row=0", "find thread=0 text=6x",
                           "find thread=0 text=61 function=61", "insns backwards=maybe"}) {
    refusal(line, ErrorCode::kInvalid);
  }
}

// Any line at all gets an answer or a named error, and no answer is larger than a picture needs.
TEST(SnapshotViewWalk, AnyAskIsAnsweredOrRefused) {
  WalkedProgram code(0x401000, 5);
  StreamBuilder builder({.psb_bytes = 512, .mtc = true, .cyc = true});
  walk(code, builder, {.seed = 5, .instructions = 20'000, .overflows = true});
  SnapshotPlace place;
  Snapshot snapshot;
  snapshot.timing = StreamBuilder::timing();
  snapshot.streams.push_back({.cpu = -1, .pid = 1, .tid = 1, .pieces = {}});
  place.add_code(snapshot, code.bytes(), 0x401000, 1);
  auto draft = place.directory().draft();
  auto writer = SnapshotWriter::begin(Fd(::open(draft->c_str(), O_RDWR | O_CLOEXEC)));
  const std::string& packets = builder.stream();
  ASSERT_TRUE(writer->packets(0, 0, {reinterpret_cast<const uint8_t*>(packets.data()), packets.size()}).ok());
  auto id = writer->finish(snapshot);
  ASSERT_TRUE(place.directory().publish(*draft, *id).ok());
  const Asked ask(place.directory());
  ASSERT_GT(number(ask("threads"), "instructions"), 10'000);
  std::mt19937 random(7);
  const std::vector<std::string> verbs{"calls", "insns", "stack", "find"};
  const std::vector<std::string> keys{"from", "to",   "at",    "columns", "first_depth", "depths",
                                      "row",  "axis", "count", "depth",   "text",        "function"};
  const std::vector<std::string> values{"0", "1", "-5", "100", "4000", "99999999", "rows", "6a", "9007199254740991"};
  int answered = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string line = verbs[random() % verbs.size()] + " thread=0";
    for (unsigned words = random() % 4; words > 0; --words) {
      line += " " + keys[random() % keys.size()] + "=" + values[random() % values.size()];
    }
    auto answer = ask.text(line);
    if (!answer) {
      EXPECT_FALSE(answer.error().message.empty()) << line;
      continue;
    }
    ++answered;
    boost::json::parse(*answer);
    EXPECT_LT(answer->size(), 8u << 20) << line;
  }
  EXPECT_GT(answered, 500);
}

}  // namespace
}  // namespace fathom::snapshot
