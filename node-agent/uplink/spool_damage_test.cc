// Files of a spool that are damaged, torn, or cannot be read.
#include "node-agent/uplink/spool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/metrics.h"
#include "node-agent/uplink/testing/spool_fixture.h"

namespace fathom::agent {
namespace {

using namespace testing;

TEST_F(SpoolTest, DamagedEntriesAreLostAndCountedAndTheOthersAreNot) {
  Counter& lost = counter("fathom_agent_lost_spans_total", "", label("reason", "spool_damaged"));
  uint64_t before = lost.value();
  open();
  for (uint64_t n = 1; n <= 3; ++n) append(n);
  fs::path path = files()[0];
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  size_t entry = spool_format::kEntryHeadBytes + spool_format::padded(payload(1, 50).size());
  file.seekp(static_cast<std::streamoff>(spool_format::kFileHeadBytes + entry + spool_format::kEntryHeadBytes + 5));
  file.put('#');  // of the second one's payload
  file.seekp(static_cast<std::streamoff>(spool_format::kFileHeadBytes + 20));
  file.put('#');  // of the first one's head
  file.close();
  open();
  EXPECT_EQ(take(), 3u);
  EXPECT_EQ(take(), 0u);
  EXPECT_EQ(lost.value(), before + head(2).spans);
  EXPECT_EQ(spool_->damaged_spans(), head(2).spans) << "how many a broken head stood for, nobody knows";
}

// The bytes from `offset` on of the only file.
class DamagedFile : public SpoolTest {
 protected:
  void overwrite(size_t offset, std::string_view bytes) {
    std::fstream file(files().at(0), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file << bytes;
  }
  std::string entry(uint64_t number, std::string_view payload) {
    std::string bytes = encode_entry_head(head(number), payload);
    bytes.append(payload);
    bytes.resize(spool_format::kEntryHeadBytes + spool_format::padded(payload.size()));
    return bytes;
  }
  static uint64_t places() { return counter("fathom_agent_spool_damaged_total", "").value(); }
};

TEST_F(DamagedFile, AFileWhoseHeadIsDamagedKeepsItsBatches) {
  open();
  for (uint64_t n = 1; n <= 3; ++n) append(n);
  overwrite(20, "#");
  uint64_t before = places();
  open();
  std::optional<SpooledBatch> first = next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->otlp, payload(1, 50));
  EXPECT_FALSE(first->same_boot) << "of which boot it is, nobody knows";
  EXPECT_EQ(take(), 2u);
  EXPECT_EQ(take(), 3u);
  EXPECT_EQ(places(), before + 1);
}

// The last write of an agent that was killed: the pool has the batch, and what looks like entries in it is text.
TEST_F(DamagedFile, ATornEntryIsNoLossAndNothingIsFoundInIt) {
  open();
  append(1);
  std::string whole = entry(2, std::string(6, 'x') + entry(3, "forged") + entry(4, "forged"));
  for (size_t left : {size_t{1}, size_t{50}, spool_format::kEntryHeadBytes, whole.size() - 8}) {
    fs::resize_file(files().at(0), spool_->bytes());
    overwrite(spool_->bytes(), whole.substr(0, left));
    auto reopened = Spool::open(options_);
    ASSERT_TRUE(reopened.ok());
    EXPECT_EQ((*reopened)->waiting(), 1u) << left;
    EXPECT_EQ((*reopened)->damaged_spans(), 0u) << left;
  }
}

// Behind a damaged head anything may stand; a head that would end beyond the file hides nothing.
TEST_F(DamagedFile, TheSearchPassesOverWhatIsNoWholeEntry) {
  open();
  append(1);
  uint64_t begin = spool_->bytes();
  std::string junk;
  while (junk.size() < 200'000) junk += "BTCH----";
  std::string beyond = entry(5, std::string(1'000'000, 'x')).substr(0, spool_format::kEntryHeadBytes);
  overwrite(begin, junk + beyond + entry(2, payload(2, 50)) + entry(3, payload(3, 50)));
  uint64_t before = places();
  open();
  for (uint64_t n = 1; n <= 3; ++n) EXPECT_EQ(take(), n);
  EXPECT_EQ(take(), 0u);
  EXPECT_EQ(places(), before + 1) << "one place, however much it is";
}

TEST_F(SpoolTest, WhatCannotBeOpenedNowIsNotLost) {
  options_.file_bytes = 500;
  open();
  for (uint64_t n = 1; n <= 5; ++n) append(n);
  open();
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
  rlimit none = old;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  std::vector<ErrorCode> codes;
  for (int i = 0; i < 100; ++i) {
    now_nano_ += Spool::kRereadNano;
    Result<std::optional<SpooledBatch>> batch = spool_->take_next();
    if (!batch.ok()) codes.push_back(batch.error().code);
  }
  ::setrlimit(RLIMIT_NOFILE, &old);
  EXPECT_EQ(codes, std::vector<ErrorCode>(100, ErrorCode::kUnavailable));
  EXPECT_EQ(spool_->waiting(), 5u);
  now_nano_ += Spool::kRereadNano;
  for (uint64_t n = 1; n <= 5; ++n) EXPECT_EQ(take(), n);
  EXPECT_EQ(spool_->damaged_spans(), 0u);
}

// A pipe opens as a file does, and cannot be read at a place.
class UnreadableFile : public SpoolTest {
 protected:
  void make_unreadable(const fs::path& file) {
    fs::rename(file, options_.directory + "/aside");
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  }
  void make_readable(const fs::path& file) { fs::rename(options_.directory + "/aside", file); }
  void nothing_can_be_read() {
    Result<std::optional<SpooledBatch>> batch = spool_->take_next();
    ASSERT_FALSE(batch.ok());
    EXPECT_EQ(batch.error().code, ErrorCode::kUnavailable);
  }
};

TEST_F(UnreadableFile, KeepsBackNoOther) {
  options_.file_bytes = 1;  // a file for each
  open();
  for (uint64_t n = 1; n <= 4; ++n) append(n);
  open();
  fs::path second = files()[1];
  make_unreadable(second);
  EXPECT_EQ(take(), 1u);
  EXPECT_EQ(take(), 3u);
  EXPECT_EQ(take(), 4u);
  make_readable(second);
  nothing_can_be_read();
  now_nano_ += Spool::kRereadNano;
  EXPECT_EQ(take(), 2u);
  EXPECT_EQ(take(), 0u);
  EXPECT_EQ(spool_->damaged_spans(), 0u);
}

TEST_F(UnreadableFile, IsLostInTheEndAsAWhole) {
  options_.file_bytes = 300;  // a file for two
  open();
  for (uint64_t n = 1; n <= 4; ++n) append(n);
  open();
  ASSERT_EQ(files().size(), 2u);
  make_unreadable(files()[0]);
  EXPECT_EQ(take(), 3u);
  EXPECT_EQ(take(), 4u);
  for (uint32_t i = 2; i < Spool::kMostFailedReads; ++i) {
    now_nano_ += Spool::kRereadNano;
    nothing_can_be_read();
  }
  EXPECT_EQ(spool_->damaged_spans(), 0u);
  now_nano_ += Spool::kRereadNano;
  EXPECT_EQ(take(), 0u);
  EXPECT_EQ(spool_->damaged_spans(), head(1).spans + head(2).spans);
}

// As on a file system that turned read-only; root may write all the same, so the test is nobody for that long.
class ReadOnlySpool : public SpoolTest {
 public:
  ReadOnlySpool() {
    fs::create_directory(options_.directory);
    if (!is_root_) return;
    for (const fs::path& path : {fs::path(options_.directory).parent_path(), fs::path(options_.directory)}) {
      if (::chown(path.c_str(), kNobody, kNobody) != 0) std::abort();
    }
    if (::seteuid(kNobody) != 0) std::abort();
  }
  ~ReadOnlySpool() override {
    protect(false);
    if (is_root_ && ::seteuid(0) != 0) std::abort();
  }

 protected:
  static constexpr uid_t kNobody = 65534;

  void protect(bool read_only) {
    for (const fs::path& file : files()) ::chmod(file.c_str(), read_only ? 0400 : 0600);
    ::chmod(options_.directory.c_str(), read_only ? 0500 : 0700);
  }

  const bool is_root_ = ::geteuid() == 0;
};

TEST_F(ReadOnlySpool, IsReadAndMarkedWhenThatCanBe) {
  options_.file_bytes = 300;  // a file for two
  open();
  for (uint64_t n = 1; n <= 4; ++n) append(n);
  open();
  ASSERT_EQ(files().size(), 2u);
  protect(true);
  for (uint64_t n = 1; n <= 3; ++n) {
    ASSERT_EQ(take(), n);
    spool_->remove(last_);
  }
  EXPECT_EQ(files().size(), 2u);
  EXPECT_GT(spool_->bytes(), fs::file_size(files()[1])) << "what cannot be deleted takes room on";
  spool_->tend();
  EXPECT_EQ(files().size(), 2u);
  EXPECT_EQ(take(), 4u) << "and nothing twice";
  spool_->release(last_);
  protect(false);
  spool_->tend();
  EXPECT_EQ(files().size(), 1u);
  EXPECT_EQ(spool_->bytes(), fs::file_size(files()[0]));
  open();
  EXPECT_EQ(take(), 4u) << "the third is marked";
  EXPECT_EQ(take(), 0u);
}

TEST_F(SpoolTest, AFileThatWasTakenAwayIsLostAndCounted) {
  options_.file_bytes = 1;
  open();
  for (uint64_t n = 1; n <= 2; ++n) append(n);
  fs::remove(files()[0]);
  EXPECT_EQ(take(), 2u);
  EXPECT_EQ(spool_->damaged_spans(), head(1).spans);
}

}  // namespace
}  // namespace fathom::agent
