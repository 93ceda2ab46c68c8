#include "bench/machine.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/time.h"

namespace fathom::bench {

namespace {

// The text behind the colon of the first line that begins with `name`.
std::string field_of(const char* path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    size_t colon = line.find(':');
    if (line.starts_with(name) && colon != std::string::npos && colon + 2 <= line.size()) return line.substr(colon + 2);
  }
  return "unknown";
}

uint64_t memory_mib() {
  std::istringstream text(field_of("/proc/meminfo", "MemTotal"));
  uint64_t kib = 0;
  text >> kib;
  return kib / 1024;
}

// The mount with the longest path that is a prefix of `path`: "ext4 on /dev/vda".
std::string disk_of(const std::string& path) {
  std::ifstream mounts("/proc/mounts");
  std::string best;
  std::string answer = "unknown";
  std::string device, point, type, rest;
  while (mounts >> device >> point >> type && std::getline(mounts, rest)) {
    if (!path.starts_with(point) || point.size() < best.size()) continue;
    best = point;
    answer = type + " on " + device;
  }
  return answer;
}

}  // namespace

std::string Machine::line() const {
  return cpu + ", " + std::to_string(cores) + " cores, " + std::to_string(memory_mib) + " MiB, Linux " + kernel + ", " +
         disk;
}

Machine describe_machine(const std::string& data_directory) {
  utsname name{};
  ::uname(&name);
  std::error_code ignored;
  std::string path = std::filesystem::weakly_canonical(data_directory, ignored).string();
  return {field_of("/proc/cpuinfo", "model name"), std::thread::hardware_concurrency(), memory_mib(), name.release,
          disk_of(path)};
}

DiskUse disk_use(const std::string& directory) {
  namespace fs = std::filesystem;
  DiskUse use;
  std::error_code error;
  for (auto at = fs::recursive_directory_iterator(directory, error); !error && at != fs::end(at); at.increment(error)) {
    struct stat status {};
    if (::lstat(at->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    uint64_t allocated = static_cast<uint64_t>(status.st_blocks) * 512;
    uint64_t to_end = (static_cast<uint64_t>(status.st_size) + 4095) / 4096 * 4096;
    use.bytes += std::min(allocated, to_end);
    if (at->path().extension() == ".log") use.wal_bytes += std::min(allocated, to_end);
    use.preallocated_bytes += allocated - std::min(allocated, to_end);
  }
  return use;
}

SyncedFile::SyncedFile(const std::string& directory)
    : path_(directory + "/fdatasync-floor"),
      fd_(::open(path_.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_APPEND | O_CLOEXEC, 0644)) {}

SyncedFile::~SyncedFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(path_.c_str());
}

std::optional<uint64_t> SyncedFile::append_nano(size_t bytes) {
  data_.resize(bytes, 'x');
  const uint64_t began_nano = now_monotonic_nano();
  if (::write(fd_, data_.data(), data_.size()) < 0 || ::fdatasync(fd_) != 0) return std::nullopt;
  return now_monotonic_nano() - began_nano;
}

Latencies measure_fdatasync(const std::string& directory, int count, size_t bytes) {
  Latencies latencies;
  SyncedFile file(directory);
  for (int i = 0; i < count; ++i) {
    std::optional<uint64_t> took_nano = file.append_nano(bytes);
    if (!took_nano) break;
    latencies.record(*took_nano);
  }
  return latencies;
}

}  // namespace fathom::bench
