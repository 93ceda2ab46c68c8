// A Spool in a directory of its own, and batches that are known by their numbers.
//
// Header-only, because only tests of this folder share it. Thread safety: none, one thread.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/hash.h"
#include "node-agent/uplink/spool.h"

namespace fathom::agent::testing {

namespace fs = std::filesystem;

class SpoolTest : public ::testing::Test {
 protected:
  SpoolTest() {
    std::string pattern = ::testing::TempDir() + "spoolXXXXXX";
    options_.directory = std::string(::mkdtemp(pattern.data())) + "/spool";
    options_.boot_id[0] = 1;
    options_.now_nano = [this] { return now_nano_; };
  }
  ~SpoolTest() override {
    spool_.reset();
    fs::remove_all(fs::path(options_.directory).parent_path());
  }
  void open() {
    spool_.reset();
    auto opened = Spool::open(options_);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    spool_ = *std::move(opened);
  }
  static SpoolHead head(uint64_t number) {
    SpoolHead head;
    Hash128 hash = hash128(std::to_string(number));
    std::memcpy(head.identity.data(), &hash, 16);
    head.spans = static_cast<uint32_t>(number % 100 + 1);
    head.built = {number, number + 1, number + 2};
    if (number % 2 == 0) head.clock = ClockOffset{-static_cast<int64_t>(number), number};
    return head;
  }
  static std::string payload(uint64_t number, size_t size) {
    std::string bytes(size, static_cast<char>('a' + number % 26));
    return std::to_string(number) + ":" + bytes;
  }
  uint64_t append(uint64_t number, size_t size = 50, bool taken = false) {
    Result<uint64_t> id = spool_->append(head(number), payload(number, size), taken);
    EXPECT_TRUE(id.ok()) << id.error().message;
    return id.ok() ? *id : 0;
  }
  std::optional<SpooledBatch> next() {
    Result<std::optional<SpooledBatch>> batch = spool_->take_next();
    EXPECT_TRUE(batch.ok()) << batch.error().message;
    return batch.ok() ? *std::move(batch) : std::nullopt;
  }
  // The number of the batch that comes next; 0 when there is none.
  uint64_t take(size_t size = 50) {
    std::optional<SpooledBatch> batch = next();
    if (!batch) return 0;
    uint64_t number = std::stoull(batch->otlp);
    EXPECT_EQ(batch->otlp, payload(number, size));
    EXPECT_EQ(batch->head.identity, head(number).identity);
    EXPECT_EQ(batch->head.spans, head(number).spans);
    EXPECT_EQ(batch->head.clock, head(number).clock);
    EXPECT_EQ(batch->head.built.boot_nano, number + 1);
    EXPECT_EQ(batch->head.built.uncertain_nano, number + 2);
    last_ = batch->id;
    return number;
  }
  std::vector<fs::path> files() {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator(options_.directory)) paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    return paths;
  }

  SpoolOptions options_;
  std::unique_ptr<Spool> spool_;
  uint64_t last_ = 0;
  uint64_t now_nano_ = 1;
};

}  // namespace fathom::agent::testing
