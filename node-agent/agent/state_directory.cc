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

std::optional<std::string> read_some(const Fd& file) {
  char text[256];
  ssize_t size = file.open() ? ::read(file.get(), text, sizeof text) : -1;
  if (size < 0) return std::nullopt;
  return std::string(text, static_cast<size_t>(size));
}

template <size_t kSize>
std::optional<std::array<uint8_t, kSize>> parse_bytes(std::string text) {
  std::erase_if(text, [](char c) { return c == '-' || c == '\n'; });
  std::array<uint8_t, kSize> bytes;
  if (!from_hex(text, bytes.data(), bytes.size()) || bytes == std::array<uint8_t, kSize>{}) return std::nullopt;
  return bytes;
}

template <size_t kSize>
std::string text_of(const std::array<uint8_t, kSize>& bytes) {
  return to_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()}) + "\n";
}

template <size_t kSize>
std::array<uint8_t, kSize> random_bytes() {
  std::array<uint8_t, kSize> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) std::abort();
  bytes[0] |= 1;
  return bytes;
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

struct KeptFile {
  const char* name;
  unsigned mode;
  const char* what;  // it should be, and the fix
};
constexpr KeptFile kNodeId = {"node-id", 0644, "node id (32 hex digits); delete it, and this node gets a new one"};
constexpr KeptFile kNodeKey = {"node-key", 0600,
                               "node key (64 hex digits); delete it, and the node's line in the file node-keys of the "
                               "server's data directory, and this node gets a new one"};

// Made only where there is none: one that cannot be read now is still this node's.
template <size_t kSize>
Result<std::array<uint8_t, kSize>> kept_in(const Fd& directory, const std::string& path, const KeptFile& kept) {
  Fd file(::openat(directory.get(), kept.name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.open() && errno == ENOENT) {
    const std::array<uint8_t, kSize> made = random_bytes<kSize>();
    Result<> written = replace_file(directory, kept.name, text_of(made), kept.mode);
    if (!written) return internal(path + ": " + written.error().message);
    return made;
  }
  const std::string name = path + "/" + kept.name;
  const std::optional<std::string> text = read_some(file);
  if (!text) return system_error("cannot read " + name);
  const auto bytes = parse_bytes<kSize>(*text);
  if (!bytes) return corrupt(name + " holds no " + kept.what);
  return *bytes;
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
  return random_bytes<16>();
}

Bytes16 boot_id() {
  std::optional<std::string> text = read_some(Fd(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)));
  std::optional<Bytes16> id = text ? parse_bytes<16>(*text) : std::nullopt;
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
  Result<Bytes16> id = kept_in<16>(*directory, path, kNodeId);
  if (!id) return id.error();
  auto key = kept_in<32>(*directory, path, kNodeKey);
  if (!key) return key.error();
  return StateDirectory(path, *std::move(locked), *id, *key);
}

}  // namespace fathom::agent
