#include "node-agent/pool/pool_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "node-agent/testing/scripted_pool.h"

namespace fathom::agent {
namespace {

using testing::ScriptedPool;

ErrorCode refusal(Fd descriptor, uint64_t bytes = 0) {
  Result<PoolFile> opened = PoolFile::open(std::move(descriptor), bytes);
  return opened ? ErrorCode::kInternal : opened.error().code;
}

TEST(PoolFile, OpensAPool) {
  ScriptedPool pool(8);
  Result<PoolFile> opened = PoolFile::open(pool.descriptor(), pool.bytes());
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->shape().chunk_count, 8u);
  EXPECT_EQ(opened->shape().clock, pool::Clock::kMonotonic);
  EXPECT_EQ(opened->shape().process_id[3], 0x42);
  EXPECT_NE(opened->shape().inode, 0u);
}

TEST(PoolFile, SeesTheSameMemory) {
  ScriptedPool pool(8);
  Result<PoolFile> opened = PoolFile::open(pool.descriptor(), 0);
  ASSERT_TRUE(opened.ok());
  pool.chunk(7)[pool::kChunkBytes - 1] = 'x';
  char last[8];
  EXPECT_EQ(opened->read_chunk(7, pool::kChunkBytes - 8, pool::kChunkBytes, last), 8u);
  EXPECT_EQ(last[7], 'x');
  opened->entry(7).sending.store(5);
  EXPECT_EQ(pool.entry(7).sending.load(), 5u);
  pool.header().chunks_used.store(1'000'000);
  EXPECT_EQ(opened->chunks_used(), 8u) << "more than there are";
  EXPECT_EQ(opened->read_resource(UINT32_MAX).size(), pool::kResourceBytes);
}

TEST(PoolFile, KnowsWhereTheSlotsOfThreadsAre) {
  ScriptedPool without(8);
  Result<PoolFile> opened = PoolFile::open(without.descriptor(), 0);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->shape().thread_slots, 0u);
  ScriptedPool with(8, pool::Clock::kMonotonic, -1, 12);
  Result<PoolFile> wider = PoolFile::open(with.descriptor(), with.bytes());
  ASSERT_TRUE(wider.ok()) << wider.error().message;
  EXPECT_EQ(wider->shape().thread_slots, 12u);
  EXPECT_EQ(wider->shape().open_offset + pool::open_area_bytes(12), wider->shape().chunks_offset);
  EXPECT_EQ(wider->shape().resource_offset + pool::kResourceBytes, wider->shape().open_offset);
}

TEST(PoolFile, TwoDescriptorsOfOnePoolAreOneFile) {
  ScriptedPool pool;
  ScriptedPool other;
  Result<PoolFile> first = PoolFile::open(pool.descriptor(), 0);
  Result<PoolFile> second = PoolFile::open(pool.descriptor(), 0);
  Result<PoolFile> third = PoolFile::open(other.descriptor(), 0);
  ASSERT_TRUE(first.ok() && second.ok() && third.ok());
  EXPECT_EQ(first->shape().inode, second->shape().inode);
  EXPECT_NE(first->shape().inode, third->shape().inode);
}

TEST(PoolFile, RefusesMemoryThatCanShrink) {
  for (int seals : {0, F_SEAL_GROW, F_SEAL_GROW | F_SEAL_SEAL}) {
    ScriptedPool pool(8, pool::Clock::kTsc, seals);
    EXPECT_EQ(refusal(pool.descriptor()), ErrorCode::kInvalid) << seals;
  }
}

TEST(PoolFile, RefusesWhatCannotBeWritten) {
  ScriptedPool pool(8);
  Fd kept = pool.descriptor();
  std::string path = "/proc/self/fd/" + std::to_string(kept.get());
  EXPECT_EQ(refusal(Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC))), ErrorCode::kInvalid);
  EXPECT_EQ(refusal(Fd(::open(path.c_str(), O_PATH | O_CLOEXEC))), ErrorCode::kInvalid);
}

TEST(PoolFile, RefusesWhatIsNoMemoryFile) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  Fd one(ends[0]);
  EXPECT_EQ(refusal(Fd(ends[1])), ErrorCode::kInvalid);
  EXPECT_EQ(refusal(Fd(::eventfd(0, EFD_CLOEXEC))), ErrorCode::kInvalid);
  EXPECT_EQ(refusal(Fd(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC))), ErrorCode::kInvalid);
  EXPECT_EQ(refusal(Fd(::open("/dev/zero", O_RDWR | O_CLOEXEC))), ErrorCode::kInvalid);
  EXPECT_EQ(refusal(Fd()), ErrorCode::kInvalid);
}

TEST(PoolFile, RefusesSizesThatDoNotAddUp) {
  ScriptedPool pool(8);
  EXPECT_EQ(refusal(pool.descriptor(), pool.bytes() + 1), ErrorCode::kInvalid);
  Fd empty(::memfd_create("empty", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::fcntl(empty.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_EQ(refusal(std::move(empty)), ErrorCode::kInvalid);
}

struct Wild {
  const char* what;
  void (*spoil)(pool::Header&);
  ErrorCode code;
};

class WildHeader : public ::testing::TestWithParam<Wild> {};

TEST_P(WildHeader, IsRefused) {
  ScriptedPool pool(8);
  GetParam().spoil(pool.header());
  EXPECT_EQ(refusal(pool.descriptor()), GetParam().code) << GetParam().what;
}

INSTANTIATE_TEST_SUITE_P(
    Fields, WildHeader,
    ::testing::Values(
        Wild{"magic", [](pool::Header& h) { h.magic ^= 1; }, ErrorCode::kInvalid},
        Wild{"version", [](pool::Header& h) { h.version = 2; }, ErrorCode::kUnsupported},
        Wild{"clock", [](pool::Header& h) { h.clock = pool::Clock{9}; }, ErrorCode::kUnsupported},
        Wild{"no chunks", [](pool::Header& h) { h.chunk_count = 0; }, ErrorCode::kInvalid},
        Wild{"fewer chunks", [](pool::Header& h) { h.chunk_count = 7; }, ErrorCode::kInvalid},
        Wild{"many chunks", [](pool::Header& h) { h.chunk_count = UINT32_MAX; }, ErrorCode::kInvalid},
        Wild{"chunk size 0", [](pool::Header& h) { h.chunk_bytes = 0; }, ErrorCode::kInvalid},
        Wild{"odd chunk size", [](pool::Header& h) { h.chunk_bytes = 16385; }, ErrorCode::kInvalid},
        Wild{"huge chunk size", [](pool::Header& h) { h.chunk_bytes = 1u << 31; }, ErrorCode::kInvalid},
        Wild{"chunks at 0", [](pool::Header& h) { h.chunks_offset = 0; }, ErrorCode::kInvalid},
        Wild{"chunks far away", [](pool::Header& h) { h.chunks_offset = UINT64_MAX - 8; }, ErrorCode::kInvalid},
        Wild{"slots that reach into the resource", [](pool::Header& h) { h.thread_slots = 4; }, ErrorCode::kInvalid},
        Wild{"slots on no page", [](pool::Header& h) { h.thread_slots = 1; }, ErrorCode::kInvalid},
        Wild{"slots for all the world", [](pool::Header& h) { h.thread_slots = UINT32_MAX; }, ErrorCode::kInvalid},
        Wild{"more slots than are allowed", [](pool::Header& h) { h.thread_slots = pool::kMostThreadSlots + 4; },
             ErrorCode::kInvalid},
        Wild{"resource in entries", [](pool::Header& h) { h.resource_offset = 4096; }, ErrorCode::kInvalid},
        Wild{"resource in chunks", [](pool::Header& h) { h.resource_offset = h.chunks_offset; }, ErrorCode::kInvalid},
        Wild{"resource far away", [](pool::Header& h) { h.resource_offset = UINT64_MAX; }, ErrorCode::kInvalid}));

}  // namespace
}  // namespace fathom::agent
