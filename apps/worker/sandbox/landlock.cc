#include "apps/worker/sandbox/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/fd.h"

namespace fathom {

namespace {

// What linux/landlock.h of Debian 12 (version 2) does not know yet.
constexpr uint64_t kTruncate = 1ULL << 14;
constexpr uint64_t kDeviceControl = 1ULL << 15;
constexpr uint64_t kTcp = 3;     // bind, connect
constexpr uint64_t kScopes = 3;  // abstract unix sockets, signals

struct RulesetAttributes {
  uint64_t files = 0;
  uint64_t network = 0;
  uint64_t scopes = 0;
};

// The bytes that each version of the kernel's interface knows.
size_t attributes_bytes(int version) {
  return version >= 6 ? 24 : version >= 4 ? 16 : 8;
}

uint64_t file_rights(int version) {
  uint64_t rights = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;  // those of version 1
  if (version >= 2) rights |= LANDLOCK_ACCESS_FS_REFER;
  if (version >= kLandlockVersionWithTruncation) rights |= kTruncate;
  if (version >= 5) rights |= kDeviceControl;
  return rights;
}

RulesetAttributes everything(int version) {
  return {.files = file_rights(version), .network = version >= 4 ? kTcp : 0, .scopes = version >= 6 ? kScopes : 0};
}

uint64_t kernel_rights(uint32_t rights, bool is_directory) {
  uint64_t all = 0;
  if (rights & kReadFiles) all |= LANDLOCK_ACCESS_FS_READ_FILE;
  if (rights & kWriteFiles) all |= LANDLOCK_ACCESS_FS_WRITE_FILE;
  if (!is_directory) return all;
  if (rights & kListFiles) all |= LANDLOCK_ACCESS_FS_READ_DIR;
  if (rights & kCreateFiles) all |= LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REFER;
  if (rights & kRemoveFiles) all |= LANDLOCK_ACCESS_FS_REMOVE_FILE;
  return all;
}

Error landlock_error(const std::string& what) {
  return {ErrorCode::kUnsupported, "Landlock: " + what};
}

Error landlock_fault(const char* call) {
  return landlock_error(std::string(call) + ": " + std::strerror(errno));
}

Result<> allow_path(const Fd& ruleset, const AllowedPath& allowed) {
  const Fd path(::open(allowed.path.c_str(), O_PATH | O_CLOEXEC));
  struct stat about {};
  if (!path.open() || ::fstat(path.get(), &about) != 0) return {};
  const landlock_path_beneath_attr rule{.allowed_access = kernel_rights(allowed.rights, S_ISDIR(about.st_mode)),
                                        .parent_fd = path.get()};
  if (rule.allowed_access == 0) return {};
  if (::syscall(SYS_landlock_add_rule, ruleset.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0) return {};
  return landlock_fault("landlock_add_rule");
}

}  // namespace

int landlock_version() {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version > 0 ? static_cast<int>(version) : 0;
}

Result<> restrict_paths(const std::vector<AllowedPath>& paths) {
  const int version = landlock_version();
  if (version == 0) return landlock_fault("landlock_create_ruleset");
  if (version < kLeastLandlockVersion) {
    return landlock_error("this kernel has version " + std::to_string(version) + ", and " +
                          std::to_string(kLeastLandlockVersion) + " is needed (Linux 5.19)");
  }
  const RulesetAttributes attributes = everything(version);
  const Fd ruleset(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, attributes_bytes(version), 0)));
  if (!ruleset.open()) return landlock_fault("landlock_create_ruleset");
  for (const AllowedPath& path : paths) {
    if (auto allowed = allow_path(ruleset, path); !allowed) return allowed;
  }
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) == 0) return {};
  return landlock_fault("landlock_restrict_self");
}

}  // namespace fathom
