// How long 8 MiB take from begin() to durable, beside a bare write and fsync of as much on the same disk. It asserts
// nothing about time, so it runs on request only: store_tests --gtest_also_run_disabled_tests
// --gtest_filter='*CaptureSpeed*'; TMPDIR says which disk.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/fd.h"
#include "base/testing/temp_directory.h"
#include "base/time.h"
#include "store/rocks/rocks_store.h"
#include "store/testing/capture_builder.h"

namespace fathom::store::testing {
namespace {

constexpr size_t kBytes = 8 << 20, kPiece = 1 << 20;
constexpr uint64_t kTimes = 40;

void write_bare(const std::string& path, const std::string& content) {
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  for (size_t at = 0; at < content.size(); at += kPiece) {
    ASSERT_EQ(::write(file.get(), content.data() + at, kPiece), static_cast<ssize_t>(kPiece));
  }
  ASSERT_EQ(::fsync(file.get()), 0);
}

double median_ms(std::vector<uint64_t> nano) {
  std::sort(nano.begin(), nano.end());
  return static_cast<double>(nano[nano.size() / 2]) / 1e6;
}

TEST(CaptureSpeed, DISABLED_EightMiB) {
  TempDirectory directory;
  RocksOptions options;
  options.path = directory / "data";
  Result<std::unique_ptr<RocksStore>> store = RocksStore::open(options);
  ASSERT_TRUE(store.ok());
  std::vector<uint64_t> bare, stored;
  for (uint64_t i = 0; i < kTimes; ++i) {
    std::string content = test_content(i, kBytes);
    uint64_t began = now_monotonic_nano();
    write_bare(directory / "bare", content);
    bare.push_back(now_monotonic_nano() - began);
    // Gives its pages back, as a capture does: memory that a virtual machine touches for the first time is slow.
    ::unlink((directory / "bare").c_str());
    began = now_monotonic_nano();
    ASSERT_EQ(send((*store)->captures(), test_capture(i), content, kPiece).outcome, AppendOutcome::kDurable);
    stored.push_back(now_monotonic_nano() - began);
  }
  std::printf("8 MiB, median of %lu: write and fsync %.1f ms, capture %.1f ms, longest %.1f ms\n", kTimes,
              median_ms(bare), median_ms(stored),
              static_cast<double>(*std::max_element(stored.begin(), stored.end())) / 1e6);
}

}  // namespace
}  // namespace fathom::store::testing
