#include "capture/shared_reason.h"

#include <gtest/gtest.h>

namespace fathom::capture {
namespace {

TEST(SharedReason, NamesTheRequestWhoseCaptureItIs) {
  const std::string reason = "GET /cart took 11.7 ms" + std::string(kAmongSlowest) + "60 s";
  EXPECT_EQ(reason_of(reason, "POST /order"), "POST /order, one of the slowest within 60 s");
  EXPECT_EQ(reason_of(reason, ""), reason) << "it is not known";
}

TEST(SharedReason, OthersAreNotShared) {
  EXPECT_EQ(reason_of("GET /cart took 812 ms, its threshold is 250 ms", "GET /cart"),
            "GET /cart took 812 ms, its threshold is 250 ms");
}

}  // namespace
}  // namespace fathom::capture
