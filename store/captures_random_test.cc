// Random sequences on the model and on RocksDB: begin, append, finish, abandon, the same again, other content,
// retention, restarts and power cuts; every answer must be equal.
//
// Few ids, contents, traces and instants, so that collisions are the rule. A sequence depends on its seed alone.
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "base/sha256.h"
#include "store/captures/capture_row.h"
#include "store/model/memory_captures.h"
#include "store/testing/capture_builder.h"
#include "store/testing/rocks_rig.h"

namespace fathom::store::testing {
namespace {

constexpr uint64_t kIds = 12;
constexpr size_t kUploads = 4;
constexpr uint64_t kTightBudgetBytes = 30 << 12, kMostUploadBytes = 12 << 12;

std::string text_of(const CaptureInfo& info) {
  return info.id.hex().substr(28) + " " + to_hex(encode_capture(info)).substr(0, 400);
}

std::string text_of(const Error& error) {
  return "(" + std::string(error_code_name(error.code)) + ")";
}

std::string text_of(const AppendResult& answer) {
  return std::to_string(static_cast<int>(answer.outcome)) + (answer.duplicate ? " again" : "");
}

std::string text_of(const CaptureStats& stats) {
  std::ostringstream text;
  text << stats.captures << " captures, " << stats.bytes << " bytes, " << stats.damaged << " damaged, " << stats.writers
       << " writers, oldest " << stats.oldest_received_unix_nano;
  return text.str();
}

// One side of the comparison: a store, and the uploads under way in it.
struct Side {
  std::function<CaptureStore&()> store;
  std::map<size_t, std::unique_ptr<CaptureWriter>> uploads;
};

class Sequence {
 public:
  explicit Sequence(uint64_t seed) : random_(seed) {
    rig_.options().capture_bytes = kTightBudgetBytes;
    rig_.options().capture_most_bytes = kMostUploadBytes;
    expected_.store = [this]() -> CaptureStore& { return model_; };
    actual_.store = [this]() -> CaptureStore& { return rig_.store().captures(); };
  }

  void run(int steps) {
    ASSERT_EQ(rig_.open(), "");
    for (int step = 0; step < steps; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      random_step();
      if (::testing::Test::HasFailure()) return;
    }
  }

 private:
  uint64_t up_to(uint64_t n) { return random_() % n; }

  void both(const std::string& what, const std::function<std::string(Side&)>& ask) {
    std::string expected = ask(expected_), actual = ask(actual_);
    EXPECT_EQ(expected, actual) << what;
  }

  void random_step() {
    rig_.advance(up_to(4));
    rig_.clocks().step(1 - static_cast<int64_t>(up_to(3)));  // the wall clock goes back, too
    uint64_t kind = up_to(100);
    if (kind < 22) return begin();
    if (kind < 50) return append();
    if (kind < 66) return finish();
    if (kind < 70) return abandon();
    if (kind < 78) return look();
    if (kind < 88) return find();
    if (kind < 94) return read();
    if (kind < 96) return drop();
    restart(kind == 99);
  }

  CaptureInfo random_info() {
    CaptureInfo info = test_capture(up_to(kIds), static_cast<int64_t>(up_to(4)));
    if (up_to(5) == 0) info.trace_id = {};
    if (up_to(4) == 0) announce(info, content(up_to(4)));
    if (up_to(6) == 0) info.size_bytes = up_to(2) ? content(0).size() : kMostUploadBytes + 1;
    if (up_to(30) == 0) info.id = {};
    return info;
  }
  void announce(CaptureInfo& info, const std::string& content) {
    info.sha256 = sha256(content);
    if (up_to(2)) info.size_bytes = content.size();
  }
  // Of a few: most uploads of one id have the same content.
  static std::string content(uint64_t which) { return test_content(which, which * 9'000); }

  void begin() {
    size_t slot = up_to(kUploads);
    CaptureInfo info = random_info();
    contents_[slot] = content(up_to(8) ? info.id.bytes[15] % 4 : up_to(7));
    both("begin", [&](Side& side) {
      side.uploads.erase(slot);
      Result<std::unique_ptr<CaptureWriter>> writer = side.store().begin(info);
      if (!writer) return text_of(writer.error());
      bool stored = (*writer)->is_stored_already();
      side.uploads[slot] = std::move(*writer);
      return std::string(stored ? "stored" : "open");
    });
  }

  void append() {
    size_t slot = up_to(kUploads), size = up_to(2) ? SIZE_MAX : up_to(8'000);
    bool elsewhere = up_to(12) == 0, more = up_to(12) == 0;
    both("append", [&](Side& side) -> std::string {
      auto upload = side.uploads.find(slot);
      if (upload == side.uploads.end()) return "none";
      uint64_t at = upload->second->size_bytes();
      std::string piece = at < contents_[slot].size() ? contents_[slot].substr(at, size) : "";
      if (more) piece.append(kMostUploadBytes, 'x');
      Result<> taken = upload->second->append(at + elsewhere, piece);
      return (taken ? "taken " : text_of(taken.error())) + std::to_string(upload->second->size_bytes());
    });
  }

  void finish() {
    size_t slot = up_to(kUploads);
    bool whole = up_to(6) != 0;
    both("finish", [&](Side& side) -> std::string {
      auto upload = side.uploads.find(slot);
      if (upload == side.uploads.end()) return "none";
      uint64_t at = upload->second->size_bytes();
      if (whole && at < contents_[slot].size()) {
        (void)upload->second->append(at, std::string_view(contents_[slot]).substr(at)).ok();
      }
      return text_of(upload->second->finish());
    });
  }

  void abandon() {
    size_t slot = up_to(kUploads);
    expected_.uploads.erase(slot);
    actual_.uploads.erase(slot);
  }

  void look() {
    CaptureId id = test_capture_id(up_to(kIds));
    both("info", [&](Side& side) {
      Result<StoredCapture> found = side.store().info(id);
      return found ? text_of(found->info) + (found->damaged ? " damaged" : "") : text_of(found.error());
    });
    both("stats", [](Side& side) { return text_of(side.store().stats()); });
    TraceId trace = test_trace_id(up_to(8));
    both("of_trace", [&](Side& side) {
      QueryBudget budget;
      Result<std::vector<StoredCapture>> found = side.store().of_trace(trace, budget);
      return found ? text_of_rows(*found) : text_of(found.error());
    });
  }

  static std::string text_of_rows(const std::vector<StoredCapture>& rows) {
    std::string text;
    for (const StoredCapture& row : rows) text += text_of(row.info) + "\n";
    return text;
  }

  CaptureFilter random_filter() {
    CaptureFilter filter;
    if (up_to(2)) filter.range = {kTestNow + up_to(3), kTestNow + up_to(5)};
    if (up_to(4) == 0) filter.service = up_to(2) ? "cart" : "stock";
    if (up_to(4) == 0) filter.process = CaptureProcess{test_node_id(up_to(3)), static_cast<uint32_t>(100 + up_to(4))};
    if (up_to(6) == 0) filter.trace_id = test_trace_id(up_to(8) + 1);
    if (up_to(6) == 0) filter.trigger = static_cast<CaptureTrigger>(up_to(7) + 1);
    return filter;
  }

  void find() {
    CaptureFilter filter = random_filter();
    size_t limit = up_to(5) + 1;
    both("find", [&](Side& side) {
      std::string text;
      QueryBudget budget;
      std::optional<CaptureCursor> cursor;
      do {
        Result<CapturePage> page = side.store().find(filter, limit, cursor, budget);
        if (!page) return text + text_of(page.error());
        text += text_of_rows(page->rows) + "--\n";
        cursor = page->next;
      } while (cursor);
      return text;
    });
  }

  void read() {
    CaptureId id = test_capture_id(up_to(kIds));
    uint64_t offset = up_to(2) ? 0 : up_to(30'000);
    size_t size = up_to(2) ? up_to(20'000) : SIZE_MAX;
    both("read", [&](Side& side) {
      Result<std::string> bytes = side.store().read(id, offset, size);
      return bytes ? std::to_string(bytes->size()) + " " + sha256(*bytes).hex() : text_of(bytes.error());
    });
  }

  void drop() {
    uint64_t before = rig_.store().clock()->now() - up_to(60);
    both("drop", [&](Side& side) { return side.store().drop_before(before).ok() ? "" : "fault"; });
  }

  // Uploads do not survive it.
  void restart(bool power_cut) {
    expected_.uploads.clear();
    actual_.uploads.clear();
    ASSERT_EQ(power_cut ? rig_.cut_power(random_()) : rig_.reopen(), "");
    both("stats", [](Side& side) { return text_of(side.store().stats()); });
  }

  std::mt19937_64 random_;
  RocksRig rig_;
  MemoryCaptures model_{{kTightBudgetBytes, kMostUploadBytes, [this] { return rig_.store().clock()->now(); }}};
  std::map<size_t, std::string> contents_;
  Side expected_, actual_;
};

TEST(CapturesRandom, RocksAnswersAsTheModelDoes) {
  for (uint64_t seed = 1; seed <= seeds(12); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Sequence sequence(seed);
    sequence.run(250);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace fathom::store::testing
