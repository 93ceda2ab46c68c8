#include "node-agent/agent/state_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/directory_cure.h"
#include "base/ids.h"
#include "base/replace_file.h"

namespace fathom::agent {

namespace {

using Bytes16 = std::array<uint8_t, 16>;

constexpr const char* kNodeId = "node-id";

std::optional<std::string> read_some(const Fd& file) {
  char text[256];
  ssize_t size = file.open() ? ::read(file.get(), text, sizeof text) : -1;
  if (size < 0) return std::nullopt;
  return std::string(text, static_cast<size_t>(size));
}

std::optional<Bytes16> parse_id(std::string text) {
  std::erase_if(text, [](char c) { return c == '-' || c == '\n'; });
  Bytes16 id;
  if (!from_hex(text, id.data(), id.size()) || id == Bytes16{}) return std::nullopt;
  return id;
}

std::string id_text(const Bytes16& id) {
  return to_hex({reinterpret_cast<const char*>(id.data()), id.size()}) + "\n";
}

constexpr const char* kOfAnother =
    " belongs to another user than this program runs as; give it to that one (chown -R), or choose another: --state "
    "DIR";

// A directory that another user could write to would let them choose what this program, often root's, overwrites.
Result<Fd> open_directory(const std::string& path) {
  Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  if (!directory.open() && errno == EACCES) return invalid(path + kOfAnother);
  if (!directory.open() || ::fstat(directory.get(), &status) != 0) return system_error("cannot open " + path);
  if (status.st_uid != ::geteuid()) return invalid(path + kOfAnother);
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return invalid(path + " can be written to by others; take that away (chmod go-w) or choose another directory");
  }
  return directory;
}

// Made only where there is none: one that cannot be read now is still this node's.
Result<Bytes16> node_id_in(const Fd& directory, const std::string& path) {
  Fd file(::openat(directory.get(), kNodeId, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.open() && errno == ENOENT) {
    Bytes16 made = random_id();
    Result<> written = replace_file(directory, kNodeId, id_text(made));
    if (!written) return internal(path + ": " + written.error().message);
    return made;
  }
  std::string name = path + "/" + kNodeId;
  std::optional<std::string> text = read_some(file);
  if (!text) return system_error("cannot read " + name);
  std::optional<Bytes16> id = parse_id(*text);
  if (!id) return corrupt(name + " holds no node id (32 hex digits); delete it, and this node gets a new one");
  return *id;
}

Result<Fd> lock_directory(const Fd& directory, const std::string& path) {
  Fd file(::openat(directory.get(), "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file.open()) return system_error("cannot open " + path + "/lock");
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno == EWOULDBLOCK)
    return unavailable("another agent uses " + path + "; stop that one or choose another directory: --state DIR");
  return system_error("cannot lock " + path);
}

}  // namespace

Bytes16 random_id() {
  Bytes16 id{};
  if (::getrandom(id.data(), id.size(), 0) != static_cast<ssize_t>(id.size())) std::abort();
  id[0] |= 1;
  return id;
}

Bytes16 boot_id() {
  std::optional<std::string> text = read_some(Fd(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)));
  std::optional<Bytes16> id = text ? parse_id(*text) : std::nullopt;
  return id ? *id : Bytes16{};
}

Result<StateDirectory> StateDirectory::open(const std::string& path) {
  std::error_code fault;
  bool is_new = std::filesystem::create_directories(path, fault);
  if (fault) return internal("cannot make " + path + ": " + fault.message() + directory_cure(path, fault.value()));
  if (is_new && ::chmod(path.c_str(), 0700) != 0) return system_error("cannot make " + path);
  Result<Fd> directory = open_directory(path);
  if (!directory) return directory.error();
  Result<Fd> locked = lock_directory(*directory, path);
  if (!locked) return locked.error();
  Result<Bytes16> id = node_id_in(*directory, path);
  if (!id) return id.error();
  return StateDirectory(path, *std::move(locked), *id);
}

}  // namespace fathom::agent
