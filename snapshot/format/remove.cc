#include <chrono>
#include <filesystem>
#include <set>

#include "snapshot/format/directory.h"

namespace fathom::snapshot {
namespace {

namespace fs = std::filesystem;

constexpr auto kFreshImage = std::chrono::hours(1);

bool is_fresh(const fs::directory_entry& file) {
  std::error_code gone;
  const auto written = file.last_write_time(gone);
  return gone || fs::file_time_type::clock::now() - written < kFreshImage;
}

template <typename Condition>
void remove_files(const std::string& path, const Condition& condition) {
  std::error_code code;
  for (const auto& file : fs::directory_iterator(path, code)) {
    std::error_code gone;
    if (condition(file)) fs::remove(file.path(), gone);
  }
}

// The names of all images' files; an error when a snapshot cannot be read, which might name any.
Result<std::set<std::string>> named_images(const SnapshotDirectory& directory) {
  auto ids = directory.list();
  if (!ids) return ids.error();
  std::set<std::string> named;
  for (const SnapshotId& id : *ids) {
    auto file = directory.open_snapshot(id);
    if (!file) return file.error();
    for (const Image& image : file->snapshot().images) named.insert(image.content.hex());
  }
  return named;
}

}  // namespace

Result<> SnapshotDirectory::remove(const SnapshotId& id) const {
  std::error_code code;
  if (!fs::remove(snapshot_path(id), code) || code) {
    return code ? internal("cannot remove the snapshot " + id.hex() + ": " + code.message())
                : not_found("there is no snapshot " + id.hex() + " in " + path_);
  }
  forget_pulled(id);
  remove_files(path_ + "/results", [&](const fs::directory_entry& file) {
    return file.path().filename().string().find(id.hex()) != std::string::npos;
  });
  auto named = named_images(*this);
  if (!named) return {};
  remove_files(path_ + "/images", [&](const fs::directory_entry& file) {
    return !named->contains(file.path().filename()) && !is_fresh(file);
  });
  return {};
}

}  // namespace fathom::snapshot
