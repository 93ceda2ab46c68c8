// What the environment says, and what is said about it.
#include <gtest/gtest.h>

#include <string>

#include "client/testing/child_program.h"

namespace fathom::client {
namespace {

using testing::ChildProgram;

// What a program says while it is loaded, and makes one span.
std::string complaints(const std::string& setting) {
  ChildProgram program({"/bin/sh", "-c", "exec " FATHOM_PROGRAMS "/client_victim brief 2>&1"},
                       {"FATHOM_AGENT_SOCKET=", setting});
  std::string all;
  for (std::string line = program.line(); !line.empty(); line = program.line()) all += line + "\n";
  return all;
}

TEST(Settings, ThatMeanNothingAreSaidOnce) {
  for (const char* size : {"abc", "0", "257", "-1", "16M", " 16", "99999999999999999999"}) {
    EXPECT_EQ(complaints("FATHOM_POOL_MIB=" + std::string(size)),
              "fathom: FATHOM_POOL_MIB=" + std::string(size) + " is not a whole number from 1 to 256; 16 is used\n");
  }
  EXPECT_EQ(complaints("FATHOM_PTWRITE=yes"), "fathom: FATHOM_PTWRITE=yes is neither '1' nor '0', and is ignored\n");
  EXPECT_EQ(complaints("FATHOM_CLOCK=wall"), "fathom: FATHOM_CLOCK=wall is not 'monotonic', and is ignored\n");
  for (const char* right : {"FATHOM_POOL_MIB=", "FATHOM_POOL_MIB=256", "FATHOM_CLOCK=monotonic",
                            "FATHOM_CLOCK=", "FATHOM_PTWRITE=1", "FATHOM_PTWRITE="}) {
    EXPECT_EQ(complaints(right), "") << right;
  }
}

TEST(Settings, ASocketThatCannotBeIsSaid) {
  ChildProgram program({"/bin/sh", "-c", "exec " FATHOM_PROGRAMS "/client_victim brief 2>&1"},
                       {"FATHOM_AGENT_SOCKET=/" + std::string(107, 's')});
  EXPECT_EQ(program.line(), "fathom: FATHOM_AGENT_SOCKET=/" + std::string(107, 's') +
                                " is longer than 107 bytes; no agent is looked for");
}

}  // namespace
}  // namespace fathom::client
