#include "node-agent/sources/availability.h"

#include <gtest/gtest.h>

namespace fathom::agent {
namespace {

TEST(Availability, AsJson) {
  EXPECT_EQ(availability_json({{"a", true, "", ""}, {"b", false, "no \"x\"", "do y"}}),
            R"([{"name":"a","available":true,"why_not":"","cure":""},)"
            R"({"name":"b","available":false,"why_not":"no \"x\"","cure":"do y"}])"
            "\n");
}

}  // namespace
}  // namespace fathom::agent
