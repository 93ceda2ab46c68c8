#include <gtest/gtest.h>

#include "snapshot/decode/analysis.h"
#include "snapshot/decode/testing/decoded.h"
#include "snapshot/decode/testing/walk.h"

namespace fathom::snapshot {
namespace {

constexpr uint64_t kBase = 0x401000;

std::vector<uint64_t> ips(const std::vector<StreamBuilder::Executed>& executed) {
  std::vector<uint64_t> all;
  all.reserve(executed.size());
  for (const auto& one : executed) all.push_back(one.ip);
  return all;
}

class DecodeFlowTest : public testing::Test {
 protected:
  DecodeFlowTest() {
    snapshot_.timing = StreamBuilder::timing();
    place_.add_code(snapshot_, code_.bytes(), kBase);
  }

  std::string record(StreamOptions stream, WalkOptions options) {
    StreamBuilder builder(stream);
    walk(code_, builder, options);
    executed_ = ips(builder.executed());
    return builder.stream();
  }

  DecodeSummary decode(const std::string& stream, DecodeOptions options = {}) {
    const SnapshotFile file = place_.write(snapshot_, {stream});
    found_ = Recorder();
    auto summary = decode_flow(file, place_.directory(), options, found_);
    EXPECT_TRUE(summary.ok());
    return *summary;
  }

  WalkedProgram code_{kBase, 7};
  SnapshotPlace place_;
  Snapshot snapshot_;
  std::vector<uint64_t> executed_;
  Recorder found_;
};

TEST_F(DecodeFlowTest, FindsWhatRan) {
  const std::string stream = record({}, {});
  const DecodeSummary summary = decode(stream);
  EXPECT_EQ(summary.gap_total, 0u);
  EXPECT_EQ(summary.instructions, executed_.size());
  EXPECT_EQ(addresses(found_.items, code_.program()), executed_);
}

StreamOptions often(uint64_t psb_bytes, bool timed = true) {
  StreamOptions options;
  options.psb_bytes = psb_bytes;
  options.mtc = options.cyc = timed;
  return options;
}

TEST_F(DecodeFlowTest, SharesOfAnySizeAndAnyThreadsGiveTheSame) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    const std::string stream = record(often(40 + 30 * seed, seed % 2 == 0), {.seed = seed, .instructions = 20000});
    for (uint64_t part_bytes : {uint64_t{1}, uint64_t{300}, uint64_t{5000}, uint64_t{1} << 20}) {
      for (unsigned threads : {1u, 2u, 4u}) {
        const DecodeSummary summary = decode(stream, {threads, part_bytes});
        EXPECT_EQ(summary.gap_total, 0u) << seed << " " << part_bytes;
        ASSERT_EQ(addresses(found_.items, code_.program()), executed_) << seed << " " << part_bytes << " " << threads;
      }
    }
  }
}

}  // namespace
}  // namespace fathom::snapshot
