#include "apps/worker/sandbox/file_opener.h"

#include <elf.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <string_view>

#include "apps/worker/sandbox/landlock.h"
#include "apps/worker/sandbox/privileges.h"
#include "apps/worker/sandbox/seccomp_filter.h"
#include "apps/worker/sandbox/system_calls.h"

namespace fathom {

namespace {

// A message with room for one descriptor.
struct Message {
  explicit Message(int& code) : part{&code, sizeof code} {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
  void attach(int file) {
    cmsghdr* place = CMSG_FIRSTHDR(&header);
    place->cmsg_level = SOL_SOCKET;
    place->cmsg_type = SCM_RIGHTS;
    place->cmsg_len = CMSG_LEN(sizeof file);
    std::memcpy(CMSG_DATA(place), &file, sizeof file);
  }
  Fd attached() {
    const cmsghdr* place = CMSG_FIRSTHDR(&header);
    if (place == nullptr || place->cmsg_type != SCM_RIGHTS) return {};
    int file = -1;
    std::memcpy(&file, CMSG_DATA(place), sizeof file);
    return Fd(file);
  }

  iovec part;
  msghdr header{};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
};

// Not ET_CORE: the memory of a process holds anything.
bool is_code_type(uint16_t type) {
  return type == ET_REL || type == ET_EXEC || type == ET_DYN;
}

bool is_code_file(const Fd& file) {
  Elf64_Ehdr header{};
  const ssize_t got = ::pread(file.get(), &header, sizeof header, 0);
  return got == static_cast<ssize_t>(sizeof header) && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         is_code_type(header.e_type);
}

// Headers of the C++ library have no suffix; they lie below /usr, which a decoder may read.
constexpr std::string_view kSourceSuffixes[] = {
    ".c",   ".cc",    ".cpp", ".cxx", ".c++", ".h",   ".hh",  ".hpp", ".hxx", ".inc", ".inl",  ".ipp",
    ".tcc", ".tpp",   ".def", ".s",   ".S",   ".asm", ".m",   ".mm",  ".rs",  ".go",  ".zig",  ".d",
    ".nim", ".swift", ".f",   ".f90", ".adb", ".ads", ".pas", ".ml",  ".hs",  ".cu",  ".java", ".kt"};

bool is_source_file(const char* path, const struct stat& about) {
  constexpr off_t kMostBytes = 4 << 20;
  const std::string_view name(path);
  return about.st_size <= kMostBytes &&
         std::ranges::any_of(kSourceSuffixes, [&](std::string_view suffix) { return name.ends_with(suffix); });
}

bool may_hand_out(const Fd& file, const char* path, const FileOpenerOptions& options) {
  struct stat about {};
  if (::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return false;
  return (options.opens_sources && is_source_file(path, about)) || (options.opens_code && is_code_file(file));
}

void answer(int code, const Fd& file) {
  Message message(code);
  if (file.open()) {
    message.attach(file.get());
  } else {
    message.header.msg_control = nullptr;
    message.header.msg_controllen = 0;
  }
  if (::sendmsg(kOpenerDescriptor, &message.header, MSG_NOSIGNAL) < 0) ::_exit(0);
}

void open_and_answer(const char* path, const FileOpenerOptions& options) {
  Fd file(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.open()) return answer(errno, file);
  if (!may_hand_out(file, path, options)) {
    file.close();
    return answer(EACCES, file);
  }
  answer(0, file);
}

Result<> confine_opener() {
  leave_namespaces();
  if (auto dropped = drop_capabilities(); !dropped) return dropped;
  if (auto given_up = give_up_new_privileges(); !given_up) return given_up;
  if (auto restricted = restrict_paths({{"/", kReadFiles}}); !restricted) return restricted;
  return install_filter(opener_calls(kOpenerDescriptor));
}

// Ends when the other side has closed its socket, at the latest with its thread.
[[noreturn]] void serve(int socket, const FileOpenerOptions& options) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_DUMPABLE, 0);
  // The reader of the answer waits until every copy of standard output is closed.
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, number);
  if (::dup2(socket, kOpenerDescriptor) < 0) ::_exit(1);
  const bool is_confined = close_descriptors(kOpenerDescriptor + 1) && confine_opener();
  if (!is_confined && !options.is_unsafe) ::_exit(1);
  char path[PATH_MAX];
  while (true) {
    const ssize_t got = ::recv(kOpenerDescriptor, path, sizeof path - 1, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) ::_exit(0);
    path[got] = '\0';
    open_and_answer(path, options);
  }
}

}  // namespace

Result<std::unique_ptr<FileOpener>> FileOpener::start(const FileOpenerOptions& options) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return system_error("cannot make a socket");
  Fd ours(ends[0]);
  // Above the number that the other end takes.
  const Fd theirs(::fcntl(ends[1], F_DUPFD_CLOEXEC, kOpenerDescriptor + 1));
  ::close(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return system_error("cannot start a process that opens files");
  if (pid == 0) serve(theirs.get(), options);
  if (ours.get() != kOpenerDescriptor && ::dup3(ours.get(), kOpenerDescriptor, O_CLOEXEC) < 0) {
    return system_error("no descriptor is left");
  }
  if (ours.get() == kOpenerDescriptor) ours.release();
  return std::make_unique<FileOpener>();
}

Fd FileOpener::open(const std::string& path) {
  errno = ENAMETOOLONG;
  if (path.empty() || path.size() >= PATH_MAX) return {};
  const std::lock_guard turn(turn_);
  if (::send(kOpenerDescriptor, path.data(), path.size(), MSG_NOSIGNAL) < 0) return {};
  int code = EIO;
  Message message(code);
  ssize_t got = 0;
  do {
    got = ::recvmsg(kOpenerDescriptor, &message.header, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  Fd file = got == static_cast<ssize_t>(sizeof code) ? message.attached() : Fd();
  errno = got == static_cast<ssize_t>(sizeof code) ? code : EIO;
  return file;
}

}  // namespace fathom
