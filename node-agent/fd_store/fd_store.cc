#include "node-agent/fd_store/fd_store.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/log.h"
#include "base/metrics.h"

namespace fathom::agent {

namespace {

constexpr int kFirstInherited = 3;  // sd_listen_fds(3) says so
constexpr uint32_t kMostInherited = 65'536;
constexpr size_t kMostName = 255;

Counter& failures() {
  static Counter& counter =
      fathom::counter("fathom_agent_notify_failures_total", "Messages that the supervisor of this agent did not take.");
  return counter;
}

Counter& not_stored(const char* reason) {
  return fathom::counter("fathom_agent_not_stored_total",
                         "Descriptors that this agent's supervisor does not keep, by reason.", label("reason", reason));
}

std::string take_variable(const char* name) {
  const char* value = std::getenv(name);
  std::string text = value == nullptr ? "" : value;
  ::unsetenv(name);
  return text;
}

uint32_t number_of(const std::string& text) {
  uint32_t number = 0;
  auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  return fault == std::errc{} && end == text.data() + text.size() ? number : 0;
}

// The names are joined with colons; a missing one is "unknown", as sd_listen_fds_with_names(3) has it.
std::string next_name(std::string_view& names) {
  size_t end = std::min(names.find(':'), names.size());
  std::string name(names.substr(0, end));
  names.remove_prefix(std::min(end + 1, names.size()));
  return name.empty() ? "unknown" : name;
}

}  // namespace

std::vector<InheritedFd> take_inherited() {
  uint32_t pid = number_of(take_variable("LISTEN_PID"));
  uint32_t count = std::min(number_of(take_variable("LISTEN_FDS")), kMostInherited);
  std::string names = take_variable("LISTEN_FDNAMES");
  std::vector<InheritedFd> inherited;
  if (pid != static_cast<uint32_t>(::getpid())) return inherited;
  std::string_view rest = names;
  for (uint32_t i = 0; i < count; ++i) {
    int number = kFirstInherited + static_cast<int>(i);
    std::string name = next_name(rest);
    if (::fcntl(number, F_SETFD, FD_CLOEXEC) == 0) inherited.push_back({std::move(name), Fd(number)});
  }
  return inherited;
}

bool is_store_name(std::string_view name) {
  return !name.empty() && name.size() <= kMostName &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 0x7f && c != ':'; });
}

FdStore::FdStore(NotifySocket supervisor) : supervisor_(std::move(supervisor)) {
  if (!keeps()) return;
  for (const char* reason : {"names", "queue", "descriptors"}) not_stored(reason);
  failures();
}

FdStore::~FdStore() {
  if (waiting_.empty()) return;
  failures().add(waiting_.size());
  log_warning("the supervisor did not take messages=" + std::to_string(waiting_.size()));
}

void FdStore::is_stored(const std::string& name) {
  if (!keeps()) return;
  stored_.insert(name);
  names_bytes_ += name.size() + 1;
}

void FdStore::store(const std::string& name, int descriptor) {
  if (!keeps()) return;
  if (names_bytes_ + name.size() + 1 > kMostNamesBytes) return not_stored("names").add();
  if (waiting_descriptors_ >= kMostWaiting) return not_stored("queue").add();
  Fd copy(::fcntl(descriptor, F_DUPFD_CLOEXEC, kFirstInherited));
  if (!copy.open()) return not_stored("descriptors").add();
  is_stored(name);
  ++waiting_descriptors_;
  // FDPOLL=0: a pool cannot be polled, and the listening socket must not be dropped when it can.
  send({"FDSTORE=1\nFDPOLL=0\nFDNAME=" + name + "\n", std::move(copy), name});
}

// All of that name. What never left is not said either, so those who come and go while the supervisor sleeps leave
// nothing in the queue.
void FdStore::remove(const std::string& name) {
  if (!keeps()) return;
  size_t count = stored_.erase(name);
  names_bytes_ -= count * (name.size() + 1);
  while (count > 0 && cancel(name)) --count;
  if (count > 0) send({"FDSTOREREMOVE=1\nFDNAME=" + name + "\n", Fd(), ""});
}

bool FdStore::cancel(const std::string& name) {
  auto found = std::find_if(waiting_.begin(), waiting_.end(),
                            [&](const Message& message) { return message.descriptor.open() && message.name == name; });
  if (found == waiting_.end()) return false;
  waiting_.erase(found);
  --waiting_descriptors_;
  return true;
}

void FdStore::say(const std::string& lines) {
  if (keeps()) send({lines + "\n", Fd(), ""});
}

// In order: a pool that is removed must not be stored afterwards.
void FdStore::send(Message message) {
  waiting_.push_back(std::move(message));
  retry();
}

void FdStore::retry() {
  while (!waiting_.empty() && try_send(waiting_.front())) {
    if (waiting_.front().descriptor.open()) --waiting_descriptors_;
    waiting_.pop_front();
  }
}

bool FdStore::try_send(const Message& message) {
  iovec text{const_cast<char*>(message.text.data()), message.text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{.msg_iov = &text, .msg_iovlen = 1};
  if (message.descriptor.open()) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    int number = message.descriptor.get();
    std::memcpy(CMSG_DATA(rights), &number, sizeof number);
  }
  ssize_t sent = supervisor_.send(header, MSG_DONTWAIT);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR || errno == ETOOMANYREFS || errno == ENOBUFS)) return false;
  if (sent < 0) failures().add();
  return true;
}

}  // namespace fathom::agent
