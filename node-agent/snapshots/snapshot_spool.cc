#include "node-agent/snapshots/snapshot_spool.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/log.h"
#include "node-agent/snapshots/snapshot_metrics.h"

namespace fathom::agent {

namespace {

namespace fs = std::filesystem;

using snapshot::SnapshotDirectory;
using snapshot::SnapshotId;

uint64_t sum_of(const auto& files) {
  uint64_t bytes = 0;
  for (const auto& file : files) bytes += file.bytes;
  return bytes;
}

// By file name. Of one that cannot be read nobody knows.
std::set<std::string> named_by(const SnapshotDirectory& directory, const std::vector<SnapshotId>& snapshots) {
  std::set<std::string> names;
  for (const SnapshotId& id : snapshots) {
    auto file = directory.open_snapshot(id);
    if (!file) continue;
    for (const snapshot::Image& image : file->snapshot().images) names.insert(image.content.hex());
  }
  return names;
}

}  // namespace

Result<std::unique_ptr<SnapshotSpool>> SnapshotSpool::open(const std::string& path, uint64_t limit_bytes) {
  auto directory = SnapshotDirectory::open(path);
  if (!directory) return directory.error();
  std::unique_ptr<SnapshotSpool> spool(new SnapshotSpool(path, limit_bytes, *std::move(directory)));
  spool->trim();
  return spool;
}

bool SnapshotSpool::has_any(const std::string& path) {
  std::error_code none;
  return fs::directory_iterator(path + "/snapshots", none) != fs::directory_iterator();
}

std::vector<SnapshotSpool::File> SnapshotSpool::files(const char* folder) const {
  std::vector<File> found;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(path_ + folder, code)) {
    struct stat about {};
    if (::stat(entry.path().c_str(), &about) != 0) continue;
    found.push_back({entry.path(), static_cast<uint64_t>(about.st_size),
                     about.st_mtim.tv_sec * 1'000'000'000 + about.st_mtim.tv_nsec});
  }
  std::ranges::sort(found, {}, [](const File& file) { return std::pair(file.written_nano, file.path); });
  return found;
}

std::vector<SnapshotId> SnapshotSpool::waiting() const {
  std::vector<SnapshotId> ids;
  for (const File& file : files("/snapshots")) {
    if (auto id = SnapshotId::from_hex_text(fs::path(file.path).stem().string())) ids.push_back(*id);
  }
  return ids;
}

uint64_t SnapshotSpool::bytes() const {
  return sum_of(files("/snapshots")) + sum_of(files("/images"));
}

void SnapshotSpool::trim() {
  std::lock_guard lock(mutex_);
  uint64_t bytes = this->bytes();
  if (bytes > limit_bytes_) remove_images(bytes);
  for (const SnapshotId& id : bytes > limit_bytes_ ? waiting() : std::vector<SnapshotId>()) {
    remove(id);
    lost_snapshots("spool_full").add();
    log_warning("snapshot " + id.hex() + " is dropped before it was sent: there is no room for more (--pt-spool)");
    remove_images(bytes = this->bytes());
    if (bytes <= limit_bytes_) break;
  }
  show(bytes);
}

// Those that were not copied lately first, until it is enough.
void SnapshotSpool::remove_images(uint64_t& bytes) {
  const std::set<std::string> named = named_by(directory_, waiting());
  for (const File& image : files("/images")) {
    if (bytes <= limit_bytes_) return;
    if (named.contains(fs::path(image.path).filename())) continue;
    if (::unlink(image.path.c_str()) == 0) bytes -= std::min(bytes, image.bytes);
  }
}

void SnapshotSpool::remove(const SnapshotId& id) {
  ::unlink(directory_.snapshot_path(id).c_str());
}

void SnapshotSpool::sent(const SnapshotId& id) {
  std::lock_guard lock(mutex_);
  remove(id);
  show(bytes());
}

void SnapshotSpool::drop(const SnapshotId& id, std::string_view reason) {
  lost_snapshots(reason).add();
  sent(id);
}

void SnapshotSpool::show(uint64_t bytes) const {
  snapshot_spool_bytes().set(static_cast<int64_t>(bytes));
}

}  // namespace fathom::agent
