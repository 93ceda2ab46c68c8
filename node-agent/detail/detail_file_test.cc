#include "node-agent/detail/detail_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "node-agent/testing/scripted_detail.h"
#include "node-agent/testing/scripted_pool.h"

namespace fathom::agent {
namespace {

using testing::ScriptedDetail;

ErrorCode refusal(Fd descriptor, uint64_t bytes = 0) {
  Result<DetailFile> opened = DetailFile::open(std::move(descriptor), bytes);
  return opened ? ErrorCode::kInternal : opened.error().code;
}

TEST(DetailFile, OpensADetailPool) {
  ScriptedDetail pool({.large = 4, .small = 2, .mode = pool::DetailMode::kDiscard});
  pool.header().losses[pool::kLostNoChunk].store(7);
  Result<DetailFile> opened = DetailFile::open(pool.descriptor(), pool.bytes());
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->shape().chunks(), 6u);
  EXPECT_EQ(opened->shape().clock, pool::Clock::kMonotonic);
  EXPECT_EQ(opened->shape().mode, pool::DetailMode::kDiscard);
  EXPECT_EQ(opened->shape().pid, 100u);
  EXPECT_EQ(opened->shape().process_id[3], 0x42);
  EXPECT_EQ(opened->losses()[pool::kLostNoChunk], 7u);
}

TEST(DetailFile, ReadsTheTableUpToWhereNothingIsInIt) {
  ScriptedDetail pool({.large = 1});
  Result<DetailFile> opened = DetailFile::open(pool.descriptor(), 0);
  ASSERT_TRUE(opened.ok());
  EXPECT_LT(opened->read_table().size(), pool::kTableBytes);
  char* table = pool.table();
  for (uint32_t at = 0; at < pool::kTableBytes; at += 20'000) table[at] = 'x';
  EXPECT_EQ(opened->read_table(), std::string(table, pool::kTableBytes));
}

TEST(DetailFile, ReadsChunksOfBothSizes) {
  ScriptedDetail pool({.large = 2, .small = 2});
  Result<DetailFile> opened = DetailFile::open(pool.descriptor(), 0);
  ASSERT_TRUE(opened.ok());
  for (uint32_t chunk = 0; chunk < 4; ++chunk) {
    pool.chunk(chunk)[0] = static_cast<char>('a' + chunk);
    pool.chunk(chunk)[pool.chunk_bytes(chunk) - 1] = static_cast<char>('A' + chunk);
    std::string copy(opened->shape().chunk_bytes(chunk), '\0');
    ASSERT_TRUE(opened->read_chunk(chunk, 0, copy.data(), copy.size()));
    EXPECT_EQ(copy.front(), 'a' + static_cast<int>(chunk));
    EXPECT_EQ(copy.back(), 'A' + static_cast<int>(chunk));
    ASSERT_TRUE(opened->read_chunk(chunk, pool.chunk_bytes(chunk) - 1, copy.data(), 1));
    EXPECT_EQ(copy.front(), 'A' + static_cast<int>(chunk));
  }
}

TEST(DetailFile, RefusesMemoryThatCanShrink) {
  for (int seals : {0, F_SEAL_GROW, F_SEAL_GROW | F_SEAL_SEAL}) {
    ScriptedDetail pool({.seals = seals});
    EXPECT_EQ(refusal(pool.descriptor()), ErrorCode::kInvalid) << seals;
  }
}

TEST(DetailFile, RefusesOtherFiles) {
  ScriptedDetail pool;
  EXPECT_EQ(refusal(pool.descriptor(), pool.bytes() + 1), ErrorCode::kInvalid);
  EXPECT_EQ(refusal(Fd()), ErrorCode::kInvalid);
  EXPECT_EQ(refusal(testing::ScriptedPool().descriptor()), ErrorCode::kInvalid) << "a span pool";
  Fd empty(::memfd_create("empty", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::fcntl(empty.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_EQ(refusal(std::move(empty)), ErrorCode::kInvalid);
}

TEST(DetailFile, RefusesLaterVersionsByName) {
  ScriptedDetail pool;
  pool.header().version = 9;
  Result<DetailFile> opened = DetailFile::open(pool.descriptor(), 0);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().message, "a detail pool of version 9");
}

struct Wild {
  const char* what;
  void (*spoil)(pool::DetailHeader&);
  ErrorCode code;
};

class WildDetailHeader : public ::testing::TestWithParam<Wild> {};

TEST_P(WildDetailHeader, IsRefused) {
  ScriptedDetail pool;
  GetParam().spoil(pool.header());
  EXPECT_EQ(refusal(pool.descriptor()), GetParam().code) << GetParam().what;
}

using Header = pool::DetailHeader;
INSTANTIATE_TEST_SUITE_P(
    Fields, WildDetailHeader,
    ::testing::Values(Wild{"magic", [](Header& h) { h.magic ^= 1; }, ErrorCode::kInvalid},
                      Wild{"version", [](Header& h) { h.version = 2; }, ErrorCode::kUnsupported},
                      Wild{"clock", [](Header& h) { h.clock = pool::Clock{9}; }, ErrorCode::kUnsupported},
                      Wild{"mode", [](Header& h) { h.mode = pool::DetailMode{3}; }, ErrorCode::kUnsupported},
                      Wild{"no chunks", [](Header& h) { h.large_chunks = h.small_chunks = 0; }, ErrorCode::kInvalid},
                      Wild{"fewer chunks", [](Header& h) { h.small_chunks = 7; }, ErrorCode::kInvalid},
                      Wild{"many chunks", [](Header& h) { h.large_chunks = UINT32_MAX; }, ErrorCode::kInvalid},
                      Wild{"a sum that wraps", [](Header& h) { h.large_chunks = UINT32_MAX - 7, h.small_chunks = 24; },
                           ErrorCode::kInvalid},
                      Wild{"chunks at 0", [](Header& h) { h.chunks_offset = 0; }, ErrorCode::kInvalid},
                      Wild{"chunks far away", [](Header& h) { h.chunks_offset = UINT64_MAX - 8; }, ErrorCode::kInvalid},
                      Wild{"table in entries", [](Header& h) { h.table_offset = 4096; }, ErrorCode::kInvalid},
                      Wild{"table off a page", [](Header& h) { h.table_offset += 8; }, ErrorCode::kInvalid},
                      Wild{"table in chunks", [](Header& h) { h.table_offset = h.chunks_offset; }, ErrorCode::kInvalid},
                      Wild{"table far away", [](Header& h) { h.table_offset = UINT64_MAX & ~4095; },
                           ErrorCode::kInvalid}));

}  // namespace
}  // namespace fathom::agent
