// StoreSource::open_with_another_manifest(): where the list of the sorted files is, if CURRENT does not tell, and how
// one wrong bit in it is corrected.
#include <algorithm>
#include <filesystem>

#include "store/verify/store_source.h"
#include "store/wal/bit_correction.h"
#include "store/wal/manifest_size.h"

namespace fathom::store {

std::vector<std::string> StoreSource::possible_manifests() {
  const std::string store = log_places(path_).store;
  if (manifest_) return {std::filesystem::path(manifest_->path).filename()};
  // A manifest that was not synced was never in use.
  std::vector<std::string> synced = ManifestSizes::read(*env_, store).manifests();
  return synced.empty() ? list_manifests(*env_, store) : synced;
}

Result<std::string> StoreSource::open_with_another_manifest() {
  const Result<ManifestState> found = manifest_;
  for (const std::string& name : possible_manifests()) {
    Result<bool> opened = open_manifest(name);
    if (!opened) break;  // an earlier manifest would hide what was stored since
    if (!*opened) continue;
    return found ? "the manifest " + name + " has a wrong bit, which was corrected"
                 : found.error().message + "; the newest manifest, " + name + ", was read";
  }
  database_.reset();
  manifest_ = found;
  return corrupt("no manifest is intact");
}

// False: RocksDB gave this manifest up before CURRENT named it, and deleted files that it lists.
Result<bool> StoreSource::open_manifest(const std::string& name) {
  if (Result<> replaced = replace_current(name); !replaced) return replaced.error();
  corrected_manifest_.clear();
  manifest_ = scan_manifest(*env_, log_places(path_).store);
  if (!manifest_) return manifest_.error();
  if (manifest_->damaged_from) {
    Result<bool> corrected = correct_manifest();
    if (!corrected) return corrected.error();
    if (!*corrected) return corrupt("the manifest " + name + " is damaged");
  }
  // The list of synced logs counts for the manifest that CURRENT names.
  if (Result<> scanned = find_logs(); !scanned) return scanned.error();
  return open_database().ok() && has_live_files();
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
  manifest_ = scan_manifest(*env_, log_places(path_).store);
  return manifest_.ok() && !manifest_->damaged_from;
}

const std::string& StoreSource::manifest_file() const {
  return corrected_manifest_.empty() ? manifest_->path : corrected_manifest_;
}

bool StoreSource::has_live_files() const {
  const std::string store = log_places(path_).store;
  return std::ranges::all_of(live_files(),
                             [&](const std::string& name) { return std::filesystem::exists(store + "/" + name); });
}

}  // namespace fathom::store
