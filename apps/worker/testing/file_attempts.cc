// Attempts on files of the same user.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <string>

#include "apps/worker/testing/escape_attempts.h"

namespace fathom::escape {

namespace {

int read_one_byte(int file) {
  char byte = 0;
  return file < 0 ? errno : outcome(::read(file, &byte, 1));
}

int read_path(const std::string& path) {
  return read_one_byte(::open(path.c_str(), O_RDONLY));
}

int open_path(const std::string& path, int flags) {
  return outcome(::open(path.c_str(), flags, 0600));
}

struct Handle {
  file_handle head;
  unsigned char bytes[MAX_HANDLE_SZ];
};

int open_by_handle(const Target& target) {
  Handle handle{};
  handle.head.handle_bytes = MAX_HANDLE_SZ;
  int mount = 0;
  if (::name_to_handle_at(AT_FDCWD, target.secret.c_str(), &handle.head, &mount, 0) != 0) return errno;
  const int at = ::open(target.directory.c_str(), O_RDONLY | O_DIRECTORY);
  return at < 0 ? errno : outcome(::open_by_handle_at(at, &handle.head, O_RDONLY));
}

// A path that leads out of an allowed directory.
int read_upwards(const Target& target) {
  return read_path(target.directory + "/images/../../" + target.secret.substr(target.secret.rfind('/') + 1));
}

int read_by_new_link(const Target& target) {
  const std::string link = target.directory + "/drafts/link";
  ::unlink(link.c_str());
  if (::symlink(target.secret.c_str(), link.c_str()) != 0) return errno;
  return read_path(link);
}

int read_by_path_descriptor(const Target& target) {
  const int file = ::open(target.secret.c_str(), O_PATH);
  return file < 0 ? errno : read_path("/proc/self/fd/" + std::to_string(file));
}

int truncate_by_openat2(const Target& target) {
  struct {
    unsigned long long flags, mode, resolve;
  } how{O_RDONLY | O_TRUNC, 0, 0};
  return outcome(::syscall(SYS_openat2, AT_FDCWD, target.own_snapshot.c_str(), &how, sizeof how));
}

int map_secret(const Target& target) {
  const int file = ::open(target.secret.c_str(), O_RDONLY);
  if (file < 0) return errno;
  return ::mmap(nullptr, 1, PROT_READ, MAP_PRIVATE, file, 0) == MAP_FAILED ? errno : 0;
}

int hard_link(const Target& target) {
  const std::string link = target.directory + "/drafts/hard";
  ::unlink(link.c_str());
  return outcome(::link(target.secret.c_str(), link.c_str()));
}

int take_into_drafts(const Target& target) {
  return outcome(::rename(target.secret.c_str(), (target.directory + "/drafts/taken").c_str()));
}

int replace_from_drafts(const Target& target) {
  const std::string draft = target.directory + "/drafts/forged";
  const int file = ::open(draft.c_str(), O_WRONLY | O_CREAT, 0600);
  if (file < 0) return errno;
  return outcome(::rename(draft.c_str(), target.other_snapshot.c_str()));
}

int make_fifo(const Target& target) {
  const std::string fifo = target.directory + "/drafts/fifo";
  ::unlink(fifo.c_str());
  return outcome(::mkfifo(fifo.c_str(), 0600));
}

int make_directory(const Target& target) {
  const std::string made = target.directory + "/drafts/directory";
  ::rmdir(made.c_str());
  return outcome(::mkdir(made.c_str(), 0700));
}

int set_times(const Target& target) {
  return outcome(::utimes(target.own_snapshot.c_str(), nullptr));
}

int watch(const Target& target) {
  const int watcher = ::inotify_init1(0);
  return watcher < 0 ? errno : outcome(::inotify_add_watch(watcher, target.secret.c_str(), IN_ACCESS));
}

int lock_own(const Target& target) {
  const int file = ::open(target.own_snapshot.c_str(), O_RDONLY);
  return file < 0 ? errno : outcome(::flock(file, LOCK_EX | LOCK_NB));
}

constexpr Attempt kFileAttempts[] = {
    {"read-secret", [](const Target& target) { return read_path(target.secret); }},
    {"read-passwd", [](const Target&) { return read_path("/etc/passwd"); }},
    {"read-other-snapshot", [](const Target& target) { return read_path(target.other_snapshot); }},
    {"read-upwards", read_upwards},
    {"read-by-new-symlink", read_by_new_link},
    {"read-by-path-descriptor", read_by_path_descriptor},
    {"read-inherited-descriptor", [](const Target&) { return read_one_byte(kInheritedDescriptor); }},
    {"read-own-program", [](const Target&) { return read_path("/proc/self/exe"); }},
    {"read-standard-error", [](const Target&) { return read_one_byte(STDERR_FILENO); }},
    {"map-secret", map_secret},
    {"list-snapshots",
     [](const Target& target) { return open_path(target.directory + "/snapshots", O_RDONLY | O_DIRECTORY); }},
    {"list-root", [](const Target&) { return open_path("/", O_RDONLY | O_DIRECTORY); }},
    {"open-by-handle", open_by_handle},
    {"open-device", [](const Target&) { return open_path("/dev/null", O_RDWR); }},
    {"open-terminal-generator", [](const Target&) { return open_path("/dev/ptmx", O_RDWR); }},
    {"write-secret", [](const Target& target) { return open_path(target.secret, O_WRONLY); }},
    {"append-secret", [](const Target& target) { return open_path(target.secret, O_WRONLY | O_APPEND); }},
    {"create-outside", [](const Target& target) { return open_path(target.secret + ".new", O_WRONLY | O_CREAT); }},
    {"create-temporary", [](const Target&) { return open_path("/tmp", O_TMPFILE | O_RDWR); }},
    {"create-in-snapshots",
     [](const Target& target) { return open_path(target.directory + "/snapshots/forged", O_WRONLY | O_CREAT); }},
    {"write-own-snapshot", [](const Target& target) { return open_path(target.own_snapshot, O_WRONLY); }},
    {"open-without-rights", [](const Target& target) { return open_path(target.secret, O_ACCMODE); }},
    {"truncate-secret", [](const Target& target) { return outcome(::truncate(target.secret.c_str(), 0)); }},
    {"truncate-by-open", [](const Target& target) { return open_path(target.own_snapshot, O_RDONLY | O_TRUNC); }},
    {"truncate-by-openat2", truncate_by_openat2},
    {"replace-snapshot-by-rename", replace_from_drafts},
    {"rename-secret", take_into_drafts},
    {"hard-link-secret", hard_link},
    {"make-fifo", make_fifo},
    {"make-directory", make_directory},
    {"change-mode", [](const Target& target) { return outcome(::chmod(target.secret.c_str(), 0644)); }},
    {"change-owner",
     [](const Target& target) { return outcome(::chown(target.secret.c_str(), ::geteuid(), ::getegid())); }},
    {"change-times", set_times},
    {"change-attribute",
     [](const Target& target) { return outcome(::setxattr(target.secret.c_str(), "user.fathom", "1", 1, 0)); }},
    {"change-directory", [](const Target& target) { return outcome(::chdir(target.directory.c_str())); }},
    {"watch-secret", watch},
    {"lock-snapshot", lock_own},
    {"unlink-secret", [](const Target& target) { return outcome(::unlink(target.secret.c_str())); }},
};

}  // namespace

std::span<const Attempt> file_attempts() {
  return kFileAttempts;
}

}  // namespace fathom::escape
