#include "node-agent/socket/bind.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>
#include <optional>

namespace fathom::agent {

namespace {

constexpr const char* kAnotherPlace = "another place: --agent-socket PATH";
constexpr int kBacklog = 4096;  // the kernel cuts it to its own limit

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return invalid("the socket's path must have 1 to " + std::to_string(sizeof address.sun_path - 1) +
                   " bytes: " + path);
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Result<Fd> new_socket() {
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.open()) return system_error("cannot make a socket");
  return socket;
}

// Only the last one, as the usual places need it: with more of them missing, the path is more likely a mistake.
Result<> make_directory(const std::string& path) {
  std::string directory = std::filesystem::path(path).parent_path().string();
  std::error_code ignored;
  if (directory.empty() || std::filesystem::is_directory(directory, ignored)) return {};
  if (::mkdir(directory.c_str(), 0755) == 0) {
    ::chmod(directory.c_str(), 0755);  // whatever the umask
    return {};
  }
  if (errno == EEXIST && std::filesystem::is_directory(directory, ignored)) return {};
  if (errno != ENOENT) return system_error("cannot make " + directory + " for the socket");
  return invalid("cannot listen at " + path + ": there is no directory " + directory +
                 " and none to make it in; make it (mkdir -p) or choose " + kAnotherPlace);
}

// Nobody listens any more at a socket that refuses; one whose queue is full has somebody.
Result<> replace_dead(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return {};
  if (!S_ISSOCK(status.st_mode)) return invalid(path + " is there already and is no socket");
  Result<Fd> probe = new_socket();
  if (!probe) return probe.error();
  Result<> connected = connect_seqpacket(probe->get(), path);
  if (connected || errno == EAGAIN)
    return unavailable("another agent listens at " + path + "; stop that one or choose " + kAnotherPlace);
  if (errno != ECONNREFUSED && errno != EPROTOTYPE && errno != ENOENT) return connected.error();
  if (errno == EPROTOTYPE) return invalid("a socket of another kind is at " + path);
  ::unlink(path.c_str());
  return {};
}

}  // namespace

Result<> connect_seqpacket(int socket, const std::string& path) {
  Result<sockaddr_un> address = address_of(path);
  if (!address) return address.error();
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0) return {};
  int fault = errno;  // for the caller, whatever the text costs
  Error error = system_error("cannot connect to " + path);
  errno = fault;
  return error;
}

Result<Fd> bind_seqpacket(const std::string& path, uint32_t mode) {
  Result<sockaddr_un> address = address_of(path);
  if (!address) return address.error();
  Result<> ready = make_directory(path);
  if (ready) ready = replace_dead(path);
  if (!ready) return ready.error();
  Result<Fd> socket = new_socket();
  if (!socket) return socket.error();
  if (::bind(socket->get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0)
    return system_error("cannot listen at " + path);
  if (::chmod(path.c_str(), mode) != 0 || ::listen(socket->get(), kBacklog) != 0)
    return system_error("cannot listen at " + path);
  return socket;
}

}  // namespace fathom::agent
