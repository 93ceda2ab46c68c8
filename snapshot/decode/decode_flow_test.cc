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

}  // namespace
}  // namespace fathom::snapshot
