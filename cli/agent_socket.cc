#include "cli/agent_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "cli/fd.h"

namespace fathom::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* kSystemPlace = "/run/fathom/agent.sock";
static_assert(kMostSocketPathBytes == sizeof(sockaddr_un::sun_path) - 1);

// The directory, or the one in which the agent would make it; it makes no more than one.
bool may_write_to(const fs::path& directory) {
  bool exists = ::access(directory.c_str(), F_OK) == 0;
  return ::access((exists ? directory : directory.parent_path()).c_str(), W_OK | X_OK) == 0;
}

bool is_free_for_us(const std::string& path) {
  SocketState state = look_at_agent_socket(path);
  return state != SocketState::kLive && state != SocketState::kTooLong && may_write_to(fs::path(path).parent_path());
}

Result<AgentSocket> checked(std::string path, bool found_by_itself) {
  if (path.empty()) return invalid("--agent-socket: the path is empty");
  if (path.size() <= kMostSocketPathBytes) return AgentSocket{std::move(path), found_by_itself};
  return invalid("'" + path + "' is too long for a socket (" + std::to_string(kMostSocketPathBytes) +
                 " bytes at most); choose another place: --agent-socket PATH");
}

// The size of the address; the path fits.
socklen_t address_of(const std::string& path, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  bool abstract = path.starts_with('@');
  if (abstract) address.sun_path[0] = '\0';
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + (abstract ? 0 : 1));
}

// Of programs that are told nothing.
std::vector<std::string> usual_places(const Context& context) {
  std::vector<std::string> places{kSystemPlace};
  auto runtime = context.env("XDG_RUNTIME_DIR");
  if (runtime && runtime->starts_with('/')) places.push_back(*runtime + "/fathom/agent.sock");
  return places;
}

}  // namespace

std::vector<std::string> agent_socket_places(const Context& context) {
  if (auto told = context.env("FATHOM_AGENT_SOCKET")) return {*told};
  return context.env_is_empty("FATHOM_AGENT_SOCKET") ? std::vector<std::string>{} : usual_places(context);
}

Result<AgentSocket> choose_agent_socket(const Args& args, const Context& context, const std::string& data_directory) {
  std::vector<std::string> places = agent_socket_places(context);
  if (auto given = args.given("--agent-socket")) {
    return checked(*given, std::find(places.begin(), places.end(), *given) != places.end());
  }
  if (auto told = context.env("FATHOM_AGENT_SOCKET")) return checked(*told, true);
  return first_free_place(usual_places(context), data_directory);
}

Result<AgentSocket> first_free_place(const std::vector<std::string>& places, const std::string& data_directory) {
  for (const std::string& place : places) {
    if (is_free_for_us(place)) return checked(place, true);
  }
  // Programs run elsewhere: a relative name would mean nothing to them.
  std::error_code ignored;
  return checked((fs::absolute(data_directory, ignored) / "agent.sock").string(), false);
}

SocketState look_at_agent_socket(const std::string& path) {
  if (path.size() > kMostSocketPathBytes) return SocketState::kTooLong;
  sockaddr_un address;
  socklen_t size = address_of(path, address);
  // Not to wait where an agent's queue is full: that one lives, too.
  Fd probe(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0) return SocketState::kLive;
  if (errno == EAGAIN) return SocketState::kLive;
  if (errno == EACCES || errno == EPERM) return SocketState::kForbidden;
  return errno == ENOENT || errno == ENOTDIR ? SocketState::kAbsent : SocketState::kStale;
}

}  // namespace fathom::cli
