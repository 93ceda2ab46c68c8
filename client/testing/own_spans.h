// The fixture of tests that look at the spans which they make themselves.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "client/testing/pool_reader.h"

namespace fathom::client::testing {

class OwnSpans : public ::testing::Test {
 public:
  ~OwnSpans() override { EXPECT_TRUE(reader_.faults().empty()) << reader_.faults()[0]; }

 protected:
  OwnSpans() : reader_(PoolReader::of_this_process()) { reader_.take(); }

  // The spans that ended since the last call.
  std::vector<ReadSpan> take() { return reader_.take(); }
  ReadSpan take_one() {
    std::vector<ReadSpan> spans = take();
    EXPECT_EQ(spans.size(), 1U);
    return spans.empty() ? ReadSpan{} : spans[0];
  }
  uint64_t lost(pool::Loss loss) const { return reader_.lost(loss); }

  PoolReader reader_;
};

}  // namespace fathom::client::testing
