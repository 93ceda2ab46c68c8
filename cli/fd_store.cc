#include "cli/fd_store.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <system_error>

#include "base/log.h"

namespace fathom::cli {

namespace {

constexpr size_t kMessageBytes = 4096;
constexpr size_t kMostPerMessage = 253;  // the kernel's bound on SCM_RIGHTS
constexpr size_t kMessagesAtOnce = 256;
constexpr size_t kMostQueued = 65'536;  // more than net.unix.max_dgram_qlen is anywhere
constexpr size_t kMostNameBytes = 255;
// All names together are one variable, of which the kernel takes 128 KiB.
constexpr size_t kMostNamesBytes = 120'000;
constexpr const char* kUnnamed = "stored";  // as systemd calls them

struct alignas(cmsghdr) Control {
  char bytes[CMSG_SPACE(kMostPerMessage * sizeof(int)) + CMSG_SPACE(sizeof(ucred))];
};

// Each costs the child up to three numbers while it is started.
size_t capacity(size_t most) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return most;
  constexpr rlim_t kOurs = 100;
  rlim_t left = limit.rlim_cur > kOurs ? (limit.rlim_cur - kOurs) / 3 : 0;
  return std::min<size_t>(most, left);
}

Result<Fd> datagram_socket() {
  Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  int yes = 1;
  bool made = socket.open() && ::setsockopt(socket.get(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) == 0;
  if (!made) return system_error("cannot make the socket of the descriptor store");
  return socket;
}

// False where somebody else listens already, or the directory has no room for a socket.
bool bind_in(const std::string& path, const Fd& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  path.copy(address.sun_path, path.size());
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  Fd probe(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (::connect(probe.get(), generic, sizeof address) == 0) return false;
  if (errno == ECONNREFUSED) ::unlink(path.c_str());  // what a supervisor left that was killed
  if (::bind(socket.get(), generic, sizeof address) != 0) return false;
  return ::chmod(path.c_str(), S_IRUSR | S_IWUSR) == 0;
}

// A name that the kernel chooses.
Result<std::string> bind_abstract(const Fd& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  bool bound =
      ::bind(socket.get(), generic, sizeof(sa_family_t)) == 0 && ::getsockname(socket.get(), generic, &size) == 0;
  if (!bound) return system_error("cannot bind the socket of the descriptor store");
  return "@" + std::string(address.sun_path + 1, size - sizeof(sa_family_t) - 1);
}

// What follows `key` on a line of its own; nothing when there is no such line.
std::optional<std::string> value_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(key)) return std::string(line.substr(key.size()));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return std::nullopt;
}

// A colon would end it in $LISTEN_FDNAMES.
bool valid_name(const std::string& name) {
  auto fits = [](char c) { return c > ' ' && c <= '~' && c != ':'; };
  return !name.empty() && name.size() <= kMostNameBytes && std::all_of(name.begin(), name.end(), fits);
}

template <typename Each>
void take_control(const msghdr& header, Each each) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr;
       part = CMSG_NXTHDR(const_cast<msghdr*>(&header), part)) {
    if (part->cmsg_level == SOL_SOCKET) each(part->cmsg_type, CMSG_DATA(part), part->cmsg_len - CMSG_LEN(0));
  }
}

}  // namespace

Result<FdStore> FdStore::make(const std::string& directory, size_t most) {
  Result<Fd> socket = datagram_socket();
  if (!socket) return socket.error();
  std::error_code ignored;
  std::filesystem::create_directories(directory, ignored);
  std::string path = directory + "/notify.sock";
  if (bind_in(path, *socket)) return FdStore(*std::move(socket), path, path, capacity(most));
  // It may be bound already, and then to the wrong thing.
  socket = datagram_socket();
  if (!socket) return socket.error();
  Result<std::string> name = bind_abstract(*socket);
  if (!name) return name.error();
  return FdStore(*std::move(socket), *name, "", capacity(most));
}

FdStore::~FdStore() {
  if (socket_.open() && !path_.empty()) ::unlink(path_.c_str());
}

void FdStore::take() {
  take(kMessagesAtOnce);
}

// Bounded all the same: others of this user can write to the socket too.
void FdStore::take_all() {
  take(kMostQueued);
}

void FdStore::take(size_t most) {
  for (size_t i = 0; i < most; ++i) {
    Message message;
    if (!receive(message)) return;
    obey(std::move(message));
  }
}

bool FdStore::receive(Message& message) {
  message.text.resize(kMessageBytes);
  iovec part{message.text.data(), message.text.size()};
  Control control;
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.bytes;
  header.msg_controllen = sizeof control.bytes;
  ssize_t size;
  do {
    size = ::recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return false;
  message.text.resize(static_cast<size_t>(size));
  message.whole = (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  take_control(header, [&message](int type, const unsigned char* data, size_t bytes) {
    if (type == SCM_CREDENTIALS && bytes >= sizeof(ucred)) {
      ucred sender;
      std::memcpy(&sender, data, sizeof sender);
      message.sender = sender.pid;
    }
    for (size_t at = 0; type == SCM_RIGHTS && at + sizeof(int) <= bytes; at += sizeof(int)) {
      int number;
      std::memcpy(&number, data + at, sizeof number);
      message.descriptors.emplace_back(number);
    }
  });
  return true;
}

void FdStore::obey(Message message) {
  if (message.sender == 0 || message.sender != sender_) return refuse(1, "a message of another process");
  if (!message.whole) return refuse(message.descriptors.size() + 1, "a message was cut");
  std::string name = value_of(message.text, "FDNAME=").value_or(kUnnamed);
  bool store = value_of(message.text, "FDSTORE=") == "1";
  bool drop = value_of(message.text, "FDSTOREREMOVE=") == "1";
  if ((store || drop) && !valid_name(name))
    return refuse(message.descriptors.size(), "a descriptor's name is not valid");
  if (drop) return remove(name);
  if (store) keep(name, std::move(message.descriptors));
}

void FdStore::keep(const std::string& name, std::vector<Fd> descriptors) {
  for (Fd& descriptor : descriptors) {
    if (is_kept(name, descriptor.get())) continue;
    if (kept_.size() >= most_ || names_bytes_ + name.size() + 1 > kMostNamesBytes) {
      refuse(1, "the descriptor store is full");
      continue;
    }
    kept_.push_back({name, std::move(descriptor)});
    names_bytes_ += name.size() + 1;
  }
}

bool FdStore::is_kept(const std::string& name, int descriptor) const {
  struct stat wanted {};
  if (::fstat(descriptor, &wanted) != 0) return false;
  for (const Kept& kept : kept_) {
    struct stat have {};
    if (kept.name != name || ::fstat(kept.descriptor.get(), &have) != 0) continue;
    if (have.st_dev == wanted.st_dev && have.st_ino == wanted.st_ino) return true;
  }
  return false;
}

void FdStore::remove(const std::string& name) {
  size_t removed = std::erase_if(kept_, [&name](const Kept& kept) { return kept.name == name; });
  names_bytes_ -= removed * (name.size() + 1);
}

// Said at the first, the second, the fourth, the eighth, ...: a flood must not fill the log.
void FdStore::refuse(uint64_t count, const char* why) {
  uint64_t before = refused_;
  refused_ += count;
  if (std::bit_width(refused_) == std::bit_width(before)) return;
  log_warning("descriptors not kept: " + std::string(why) + " (" + std::to_string(refused_) + " so far)");
}

int FdStore::equip(ChildOptions& child) const {
  int number = kFirstNumber;
  std::string names;
  for (const Kept& kept : kept_) {
    child.descriptors.emplace_back(number++, kept.descriptor.get());
    names += (names.empty() ? "" : ":") + kept.name;
  }
  child.environment.emplace_back("NOTIFY_SOCKET", address_);
  if (kept_.empty()) return number;
  child.environment.emplace_back("LISTEN_FDS", std::to_string(kept_.size()));
  child.environment.emplace_back("LISTEN_FDNAMES", names);
  child.own_pid_variable = "LISTEN_PID";
  return number;
}

}  // namespace fathom::cli
