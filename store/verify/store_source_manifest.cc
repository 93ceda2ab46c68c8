// StoreSource::open_with_another_manifest(): where the list of the sorted files is, if CURRENT does not tell, and how
// one wrong bit in it is corrected.
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "store/verify/store_source.h"
#include "store/wal/bit_correction.h"
#include "store/wal/manifest_size.h"

namespace fathom::store {

// The newest first.
std::vector<std::string> StoreSource::possible_manifests() {
  const std::string store = log_places(path_).store;
  if (manifest_) return {std::filesystem::path(manifest_->path).filename()};
  std::vector<std::string> synced = ManifestSizes::read(*env_, store).manifests();
  if (!synced.empty()) return synced;
  // If CURRENT names a manifest that is lost, the others are older.
  return current_manifest_name(*env_, store).empty() ? list_manifests(*env_, store) : std::vector<std::string>();
}

Result<std::string> StoreSource::open_with_another_manifest() {
  const Result<ManifestState> found = manifest_;
  const std::vector<LogState> logs = logs_;
  const std::vector<std::string> names = possible_manifests();
  Result<> opened;
  for (const std::string& name : names) {
    opened = open_manifest(name);
    if (!opened) break;  // an earlier manifest would hide what was stored since
    if (has_live_files()) return describe_manifest(found);
    // RocksDB may have given this manifest up before CURRENT named it, and deleted files that it lists.
  }
  // None has all its files, so some are lost.
  if (opened && !names.empty()) {
    opened = open_manifest(names.front());
    if (opened) return describe_manifest(found);
  }
  database_.reset();
  manifest_ = found;
  logs_ = logs;
  return corrupt("no manifest is intact");
}

std::string StoreSource::describe_manifest(const Result<ManifestState>& found) const {
  const std::string read = found ? "" : found.error().message + "; " + manifest_->path + " was read; ";
  return read + "wrong bits of the manifest that were corrected: " + std::to_string(corrected_bits_);
}

Result<> StoreSource::open_manifest(const std::string& name) {
  database_.reset();
  files_->forget_copies();
  corrected_manifest_.clear();
  corrected_bits_ = 0;
  if (Result<> replaced = replace_current(name); !replaced) return replaced;
  manifest_ = scan_manifest(*env_, log_places(path_).store);
  if (!manifest_) return manifest_.error();
  if (manifest_->damaged_from) {
    Result<bool> corrected = correct_manifest();
    if (!corrected) return corrected.error();
    if (!*corrected) return corrupt("the manifest " + name + " is damaged");
  }
  // The list of synced logs counts for the manifest that CURRENT names.
  if (Result<> scanned = find_logs(); !scanned) return scanned;
  return open_database();
}

Result<> StoreSource::replace_current(const std::string& name) {
  Result<std::string> copy = temporary_path("CURRENT");
  if (!copy) return copy.error();
  const rocksdb::Status status = rocksdb::WriteStringToFile(rocksdb::Env::Default(), name + "\n", *copy);
  if (!status.ok()) return unavailable("cannot write " + *copy + ": " + status.ToString());
  files_->replace(log_places(path_).store + "/CURRENT", *copy);
  return {};
}

Result<bool> StoreSource::correct_manifest() {
  const std::string path = manifest_->path;
  Result<std::string> copy = temporary_path(std::filesystem::path(path).filename().string() + ".corrected");
  if (!copy) return copy.error();
  Result<size_t> corrections = copy_corrected(*env_, path, *copy);
  if (!corrections) return corrections.error();
  files_->replace(path, *copy);
  corrected_manifest_ = *copy;
  corrected_bits_ = *corrections;
  manifest_ = scan_manifest(*env_, log_places(path_).store);
  return manifest_.ok() && !manifest_->damaged_from;
}

const std::string& StoreSource::manifest_file() const {
  return corrected_manifest_.empty() ? manifest_->path : corrected_manifest_;
}

bool StoreSource::has_live_files() const {
  const std::string store = log_places(path_).store;
  std::error_code error;  // a file that cannot be inspected counts as missing
  return std::ranges::all_of(
      live_files(), [&](const std::string& name) { return std::filesystem::exists(store + "/" + name, error); });
}

}  // namespace fathom::store
