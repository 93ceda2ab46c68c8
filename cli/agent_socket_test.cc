#include "cli/agent_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <filesystem>

#include "cli/command.h"
#include "cli/fd.h"
#include "cli/testing/fake_context.h"
#include "cli/testing/scratch.h"

namespace fathom::cli {
namespace {

Fd agent_at(const std::string& path) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(socket.get(), 1), 0);
  return socket;
}

Result<AgentSocket> choose(FakeWorld& world, const std::vector<std::string>& words = {}) {
  Result<Args> args = parse_args(up_command().line, words);
  return choose_agent_socket(*args, world.context(), "/data");
}

TEST(AgentSocketChoice, WhatIsAskedForWins) {
  FakeWorld world;
  EXPECT_EQ(choose(world, {"--agent-socket", "/x/a.sock"})->path, "/x/a.sock");
  EXPECT_FALSE(choose(world, {"--agent-socket", "/x/a.sock"})->found_by_itself);
  EXPECT_TRUE(choose(world, {"--agent-socket", "/run/fathom/agent.sock"})->found_by_itself);
  world.environment["FATHOM_AGENT_SOCKET"] = "/told/agent.sock";
  EXPECT_EQ(choose(world)->path, "/told/agent.sock");
  EXPECT_TRUE(choose(world)->found_by_itself);
  EXPECT_EQ(choose(world, {"--agent-socket=/x"})->path, "/x");
}

TEST(AgentSocketChoice, PathsThatNoSocketCanHave) {
  FakeWorld world;
  EXPECT_EQ(choose(world, {"--agent-socket="}).error().code, ErrorCode::kInvalid);
  Result<AgentSocket> longest = choose(world, {"--agent-socket", "/" + std::string(106, 'a')});
  EXPECT_TRUE(longest.ok());
  Result<AgentSocket> longer = choose(world, {"--agent-socket", "/" + std::string(107, 'a')});
  EXPECT_EQ(longer.error().code, ErrorCode::kInvalid);
}

TEST(AgentSocketChoice, ProgramsLookInThreePlaces) {
  FakeWorld world;
  EXPECT_EQ(agent_socket_places(world.context()), std::vector<std::string>{"/run/fathom/agent.sock"});
  world.environment["XDG_RUNTIME_DIR"] = "/run/user/7";
  EXPECT_EQ(agent_socket_places(world.context()).back(), "/run/user/7/fathom/agent.sock");
  world.environment["FATHOM_AGENT_SOCKET"] = "/a";
  EXPECT_EQ(agent_socket_places(world.context()), std::vector<std::string>{"/a"});
  world.environment["FATHOM_AGENT_SOCKET"] = "";
  EXPECT_EQ(agent_socket_places(world.context()), std::vector<std::string>{}) << "no agent is wanted";
}

TEST(AgentSocketChoice, WhatProgramsCannotReachIsNotChosen) {
  FakeWorld world;
  Scratch scratch;
  std::string deep = scratch.path() + "/" + std::string(100, 'x') + "/fathom/agent.sock";
  EXPECT_EQ(first_free_place({"/proc/version/no/agent.sock", deep}, "/data")->path, "/data/agent.sock");
  std::string nowhere = scratch.path() + "/gone/fathom/agent.sock";
  EXPECT_EQ(first_free_place({nowhere}, "/data")->path, "/data/agent.sock") << "the agent makes one directory, not two";
  world.environment["FATHOM_AGENT_SOCKET"] = "";
  EXPECT_FALSE(choose(world, {"--agent-socket", "/run/fathom/agent.sock"})->found_by_itself);
}

TEST(AgentSocketChoice, APlaceThatIsTakenIsLeftToItsAgent) {
  Scratch scratch;
  std::string place = scratch.path() + "/fathom/agent.sock";
  std::vector<std::string> places{"/proc/version/is-no-directory/agent.sock", place};
  EXPECT_EQ(first_free_place(places, "/data")->path, place);
  EXPECT_TRUE(first_free_place(places, "/data")->found_by_itself);
  Fd other = agent_at(place);
  EXPECT_EQ(first_free_place(places, "/data")->path, "/data/agent.sock");
  EXPECT_FALSE(first_free_place(places, "/data")->found_by_itself);
  EXPECT_EQ(first_free_place(places, "data")->path, std::filesystem::current_path() / "data/agent.sock");
  other.close();
  EXPECT_EQ(first_free_place(places, "/data")->path, place) << "what a killed agent left is replaced";
}

TEST(AgentSocketState, IsLookedAt) {
  Scratch scratch;
  std::string path = scratch.path() + "/agent.sock";
  EXPECT_EQ(look_at_agent_socket(path), SocketState::kAbsent);
  EXPECT_EQ(look_at_agent_socket(path + "/below"), SocketState::kAbsent);
  Fd agent = agent_at(path);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(look_at_agent_socket(path), SocketState::kLive) << "also when its queue is full";
  }
  agent.close();
  EXPECT_EQ(look_at_agent_socket(path), SocketState::kStale);
  EXPECT_EQ(look_at_agent_socket("/" + std::string(106, 'a')), SocketState::kAbsent);
  EXPECT_EQ(look_at_agent_socket("/" + std::string(107, 'a')), SocketState::kTooLong);
}

TEST(AgentSocketState, OfAbstractNames) {
  std::string name = "fathom-agent-socket-test-" + std::to_string(::getpid());
  EXPECT_NE(look_at_agent_socket("@" + name), SocketState::kLive);
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, name.size());
  auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(socket.get(), 1), 0);
  EXPECT_EQ(look_at_agent_socket("@" + name), SocketState::kLive);
}

}  // namespace
}  // namespace fathom::cli
