#include "store/testing/populated_store.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "base/sha256.h"
#include "base/time.h"
#include "store/testing/capture_builder.h"
#include "store/testing/random_answers.h"
#include "store/testing/random_input.h"

namespace fathom::store::testing {

namespace {

constexpr uint64_t kBatches = 40;
constexpr uint64_t kUnsealedBatches = 6;
constexpr uint64_t kMostTraces = 14;
constexpr uint64_t kCaptures = 4;
constexpr size_t kContentBytes = 6000;

class Questions {
 public:
  explicit Questions(RocksStore& store) : store_(store) {}

  Answers ask() {
    for (const By by : {By::kTrace, By::kSpan, By::kSpanOfTrace}) ask_slowest(by);
    for (uint64_t trace = 1; trace <= kMostTraces; ++trace) add(store_.trace(test_trace_id(trace), budget_));
    for (uint64_t trace = 1001; trace <= 1000 + kBatches; ++trace) add(store_.trace(test_trace_id(trace), budget_));
    add(store_.operations({}, std::nullopt, budget_));
    add(store_.latency({}, std::nullopt, std::nullopt, kNanosPerMinute, budget_));
    add(store_.attribute_keys({}, budget_));
    for (const char* key : {"method", "code", "host"}) add(store_.attribute_values({}, key, "", 1000, budget_));
    ask_captures();
    return std::move(answers_);
  }

 private:
  template <typename T>
  void add(const Result<T>& answer) {
    add_text(answer_text(answer), answer.ok() || answer.error().code == ErrorCode::kNotFound);
  }
  void add_text(std::string text, bool ok) {
    answers_.texts.push_back(std::move(text));
    answers_.has_errors |= !ok;
  }

  void ask_slowest(By by) {
    for (const size_t limit : {size_t{3}, size_t{1000}}) {
      add(store_.slowest({}, by, limit, std::nullopt, budget_));
      add(store_.slowest({.service = "shop"}, by, limit, std::nullopt, budget_));
      add(store_.slowest({.operation = "GET /"}, by, limit, std::nullopt, budget_));
      add(store_.slowest({.errors = true}, by, limit, std::nullopt, budget_));
      add(store_.slowest({.where = {{"code", "200"}}}, by, limit, std::nullopt, budget_));
      add(store_.find({}, by, limit, budget_));
    }
  }

  void ask_captures() {
    CaptureStore& captures = store_.captures();
    Result<CapturePage> page = captures.find({}, 100, std::nullopt, budget_);
    if (!page) return add_text(error_text(page.error()), false);
    for (const StoredCapture& capture : page->rows) {
      const std::string content = read_all(captures, capture.info.id);
      const bool ok = !capture.damaged && !content.starts_with("(error)");
      add_text("capture " + capture.info.id.hex() + " " + capture.info.service + " " + sha256(content).hex(), ok);
    }
  }

  RocksStore& store_;
  QueryBudget budget_;
  Answers answers_;
};

void send_captures(RocksStore& store, uint64_t first) {
  for (uint64_t number = first; number < first + kCaptures; ++number) {
    const AppendResult sent = send(store.captures(), test_capture(number), test_content(number, kContentBytes));
    ASSERT_EQ(sent.outcome, AppendOutcome::kDurable) << sent.message;
  }
}

}  // namespace

RocksOptions populated_options() {
  RocksOptions options;
  options.segment_spans = 150;
  return options;
}

void populate(RocksRig& rig, uint64_t seed, bool with_drop) {
  RandomInput input(seed);
  for (uint64_t batch = 0; batch < kBatches; ++batch) {
    rig.advance(10 * kNanosPerMinute);
    if (batch + kUnsealedBatches == kBatches) {
      ASSERT_TRUE(rig.store().settle().ok());
      if (with_drop) {
        ASSERT_TRUE(rig.store().drop_before(rig.now_unix_nano() - 5 * kNanosPerHour).ok());
      }
    }
    const AppendResult sent = append_once(rig.store(), make_batch(input.spans(), input.clock()));
    ASSERT_EQ(sent.outcome, AppendOutcome::kDurable) << sent.message;
    if (batch % 5 == 4 && batch + kUnsealedBatches < kBatches) {
      ASSERT_TRUE(rig.store().settle().ok());
    }
  }
  send_captures(rig.store(), 1);
  rig.close();
}

void copy_populated(RocksRig& rig, uint64_t seed) {
  static std::map<uint64_t, std::unique_ptr<RocksRig>> made;
  std::unique_ptr<RocksRig>& original = made[seed];
  if (!original) {
    original = std::make_unique<RocksRig>(populated_options());
    ASSERT_EQ(original->open(), "");
    populate(*original, seed);
  }
  std::filesystem::copy(original->path(), rig.path(), std::filesystem::copy_options::recursive);
  rig.advance(original->now_unix_nano() - rig.now_unix_nano());
}

Answers all_answers(RocksStore& store) {
  return Questions(store).ask();
}

std::string tree_text(const std::string& path) {
  namespace fs = std::filesystem;
  std::vector<std::string> lines;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    std::string line = entry.path().string() + " " + std::to_string(entry.last_write_time().time_since_epoch().count());
    if (entry.is_regular_file()) {
      std::ifstream file(entry.path(), std::ios::binary);
      line += " " + sha256(std::string(std::istreambuf_iterator<char>(file), {})).hex();
    }
    lines.push_back(std::move(line));
  }
  std::ranges::sort(lines);
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace fathom::store::testing
