#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>

#include "base/lock_holder.h"
#include "base/time.h"
#include "cli/doctor_checks.h"
#include "cli/fd.h"
#include "cli/sizes.h"

namespace fathom::cli {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLeastFree = uint64_t{256} << 20;  // the server's --reserve-disk
constexpr uint64_t kEnoughFree = uint64_t{5} << 30;
constexpr uint64_t kSlowFsyncNano = 20'000'000;
constexpr int kFsyncs = 50;
constexpr uint64_t kFsyncPatienceNano = 3 * kNanosPerSecond;

// The path, or the nearest above it that is there, whatever it is.
std::string nearest_there(const std::string& directory) {
  std::error_code error;
  fs::path path = fs::absolute(directory, error);
  while (!fs::exists(path, error) && path.has_relative_path()) path = path.parent_path();
  return path.string();
}

// "ext4, mounted at /srv".
std::string mount_of(const std::string& place) {
  struct stat here {};
  if (::stat(place.c_str(), &here) != 0) return place;
  std::string found = place;
  std::ifstream mounts("/proc/self/mountinfo");
  std::string line;
  // Fields: id, parent, major:minor, root, mount point, options ... "-", type; the last of a device is the one on top.
  while (std::getline(mounts, line)) {
    std::istringstream words(line);
    std::string id, parent, device, root, point;
    words >> id >> parent >> device >> root >> point;
    size_t dash = line.find(" - ");
    bool ours = device == std::to_string(major(here.st_dev)) + ":" + std::to_string(minor(here.st_dev));
    bool above = place == point || point == "/" || place.starts_with(point + "/");
    if (!ours || !above || dash == std::string::npos) continue;
    found = line.substr(dash + 3, line.find(' ', dash + 3) - dash - 3) + ", mounted at " + point;
  }
  return found;
}

// The directory, or the nearest above it that is there.
std::string nearest_existing(const std::string& directory) {
  std::error_code error;
  fs::path path = fs::absolute(directory, error);
  while (!fs::is_directory(path, error) && path.has_relative_path()) path = path.parent_path();
  return path.string();
}

// A file without a name; where the file system has no such thing, one whose name is gone at once.
Fd scratch_file(const std::string& directory) {
  Fd file(::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (file.open()) return file;
  std::string path = directory + "/.fathom-doctor-XXXXXX";
  Fd named(::mkostemp(path.data(), O_CLOEXEC));
  if (named.open()) ::unlink(path.c_str());
  return named;
}

// How long each of some appends of 4 KiB takes to reach the disk; empty when it cannot be measured.
std::vector<uint64_t> measure_fsync(int file) {
  std::string page(4096, 'f');
  std::vector<uint64_t> durations;
  uint64_t begin = now_monotonic_nano();
  for (int i = 0; i < kFsyncs && now_monotonic_nano() - begin < kFsyncPatienceNano; ++i) {
    uint64_t before = now_monotonic_nano();
    if (::write(file, page.data(), page.size()) < 0 || ::fdatasync(file) != 0) return {};
    durations.push_back(now_monotonic_nano() - before);
  }
  return durations;
}

}  // namespace

Finding judge_disk_space(uint64_t free_bytes, uint64_t total_bytes) {
  std::string says = format_size(free_bytes) + " free of " + format_size(total_bytes);
  if (free_bytes >= kEnoughFree) return {"disk space", Health::kOk, says, ""};
  std::string cure = "free some, choose another place with --data, or keep less with --retention-size";
  return {"disk space", free_bytes < kLeastFree ? Health::kFail : Health::kWarn, says, cure};
}

Finding check_disk_space(const std::string& directory) {
  struct statvfs space {};
  if (::statvfs(nearest_existing(directory).c_str(), &space) != 0) {
    return {"disk space", Health::kFail, directory + ": " + std::strerror(errno), "choose another place with --data"};
  }
  return judge_disk_space(uint64_t{space.f_bavail} * space.f_frsize, uint64_t{space.f_blocks} * space.f_frsize);
}

Finding check_data_directory(const std::string& directory) {
  std::error_code error;
  std::string existing = nearest_there(directory);
  if (!fs::is_directory(existing, error)) {
    return {"data directory", Health::kFail, existing + " is not a directory", "choose another place with --data"};
  }
  if (!fs::exists(directory, error)) return {"data directory", Health::kOk, directory + " (made when needed)", ""};
  std::optional<std::string> holder = lock_holder(directory + "/store/LOCK");
  if (!holder) return {"data directory", Health::kOk, directory, ""};
  return {"data directory", Health::kOk, directory + " is held by " + *holder + "; only one server at a time can", ""};
}

Finding check_file_system(const std::string& directory) {
  struct statfs system {};
  std::string place = nearest_existing(directory);
  ::statfs(place.c_str(), &system);
  std::string says = mount_of(place);
  if (system.f_type == TMPFS_MAGIC) {
    return {"file system", Health::kWarn, says + " is in memory", "a restart of this host loses it; use --data"};
  }
  if (system.f_type == NFS_SUPER_MAGIC || system.f_type == SMB2_SUPER_MAGIC) {
    return {"file system", Health::kWarn, says + " is on the network", "use a local disk: --data DIR"};
  }
  return {"file system", Health::kOk, says, ""};
}

Finding judge_fsync(std::vector<uint64_t> durations_nano) {
  if (durations_nano.empty())
    return {"fsync", Health::kFail, "cannot write there", "check the permissions, or use --data"};
  std::sort(durations_nano.begin(), durations_nano.end());
  uint64_t median = durations_nano[durations_nano.size() / 2];
  std::string says = format_duration(median) + " median, " + format_duration(durations_nano.back()) + " longest of " +
                     std::to_string(durations_nano.size());
  if (median <= kSlowFsyncNano) return {"fsync", Health::kOk, says, ""};
  return {"fsync", Health::kWarn, says,
          "acknowledgements wait for this: a faster disk, or --durability os if a power cut may lose seconds"};
}

Finding check_fsync(const std::string& directory) {
  Fd file = scratch_file(nearest_existing(directory));
  return judge_fsync(file.open() ? measure_fsync(file.get()) : std::vector<uint64_t>{});
}

}  // namespace fathom::cli
