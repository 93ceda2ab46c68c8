#include "store/testing/unsynced_changes.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace fathom::store {
namespace {

using rocksdb::IOOptions;
using rocksdb::IOStatus;

// One name for one file, however its path was put together.
std::string normal(const std::string& path) {
  std::string text = std::filesystem::path(path).lexically_normal().string();
  if (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

std::string directory_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

// A fault of the disk below would make the model say things that are not so: no test may go on with that.
void must(const IOStatus& status) {
  if (status.ok()) return;
  fprintf(stderr, "the power cut could not be played: %s\n", status.ToString().c_str());
  std::abort();
}

// RocksDB's own file system does not implement Truncate.
void must_resize(const std::string& path, uint64_t size) {
  std::error_code error;
  std::filesystem::resize_file(path, size, error);
  must(error ? IOStatus::IOError(path, error.message()) : IOStatus::OK());
}

constexpr uint64_t kSectorBytes = 512;

// Whole sectors or their parts within [from, to), each with a chance of a quarter.
void zero_sectors(const std::string& path, uint64_t from, uint64_t to, std::mt19937_64& random) {
  if (from >= to) return;
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  while (from < to) {
    const uint64_t end = std::min(to, (from / kSectorBytes + 1) * kSectorBytes);
    if (random() % 4 == 0) {
      file.seekp(static_cast<std::streamoff>(from));
      file << std::string(end - from, 0);
    }
    from = end;
  }
  file.flush();
  must(file ? IOStatus::OK() : IOStatus::IOError(path, "cannot clear sectors"));
}

// Puts the durable end of the file back, in place of what was written there since.
void restore_end(const std::string& path, const Overwrite& cut_off) {
  must_resize(path, cut_off.offset);
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file << cut_off.before;
  file.flush();
  must(file ? IOStatus::OK() : IOStatus::IOError(path, "cannot put the end back"));
}

// Puts back what the overwrite replaced within [from, to).
void put_back(std::fstream& file, const Overwrite& overwrite, uint64_t from, uint64_t to) {
  file.seekp(static_cast<std::streamoff>(from));
  file.write(overwrite.before.data() + (from - overwrite.offset), static_cast<std::streamsize>(to - from));
}

// Puts back all of the newest overwrites but the given number of the oldest; of the one behind these, a prefix stays.
void put_back_newest(std::fstream& file, const std::vector<Overwrite>& overwrites, size_t kept, uint64_t prefix) {
  for (size_t i = overwrites.size(); i-- > kept;) {
    put_back(file, overwrites[i], overwrites[i].offset + (i == kept ? prefix : 0), overwrites[i].end());
  }
}

// The disk wrote in order and was interrupted.
void tear_overwrites(std::fstream& file, const std::vector<Overwrite>& overwrites, std::mt19937_64& random) {
  const size_t kept = random() % (overwrites.size() + 1);
  if (kept == overwrites.size()) return;
  put_back_newest(file, overwrites, kept, random() % (overwrites[kept].before.size() + 1));
}

// The disk wrote sectors in any order. It writes a sector whole, so that one that has an overwrite has all older ones.
void reorder_overwrites(std::fstream& file, const std::vector<Overwrite>& overwrites, std::mt19937_64& random) {
  std::set<uint64_t> reached;
  for (auto overwrite = overwrites.rbegin(); overwrite != overwrites.rend(); ++overwrite) {
    for (uint64_t from = overwrite->offset, to = 0; from < overwrite->end(); from = to) {
      const uint64_t sector = from / kSectorBytes;
      to = std::min(overwrite->end(), (sector + 1) * kSectorBytes);
      if (random() % 2 == 0) reached.insert(sector);
      if (!reached.contains(sector)) put_back(file, *overwrite, from, to);
    }
  }
}

// Takes nothing from `random` if there is no seed.
void take_back(const std::string& path, const std::vector<Overwrite>& overwrites, bool torn, bool reordered,
               std::mt19937_64& random) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  if (reordered) {
    reorder_overwrites(file, overwrites, random);
  } else if (torn) {
    tear_overwrites(file, overwrites, random);
  } else {
    put_back_newest(file, overwrites, 0, 0);
  }
  file.flush();
  must(file ? IOStatus::OK() : IOStatus::IOError(path, "cannot take overwrites back"));
}

}  // namespace

void FileDurability::write(uint64_t offset, uint64_t size, std::string before) {
  written = std::max(written, offset + size);
  Overwrite overwrite{offset, std::move(before)};
  overwrite.clip(durable);  // a power cut drops what lies behind
  if (!overwrite.before.empty()) overwrites.push_back(std::move(overwrite));
}

// Overwrites behind the new end stay: if the end comes back, it holds them.
void FileDurability::truncate(uint64_t size, const std::string& before) {
  written = size;
  if (size >= durable) return;
  const std::string rest = cut_off ? cut_off->before : "";
  cut_off = Overwrite{size, before.substr(0, durable - size) + rest};
  durable = size;
}

void FileDurability::truncate_durably(uint64_t size) {
  written = size;
  durable = std::min(durable, size);
  cut_off.reset();
  for (Overwrite& overwrite : overwrites) overwrite.clip(size);
  std::erase_if(overwrites, [](const Overwrite& overwrite) { return overwrite.before.empty(); });
}

void FileDurability::sync() {
  if (sync_failed) return;
  durable = written;
  overwrites.clear();
  cut_off.reset();
}

UnsyncedChanges::~UnsyncedChanges() {
  std::error_code ignored;
  for (const std::string& directory : kept_directories_) std::filesystem::remove_all(directory, ignored);
}

std::shared_ptr<FileDurability> UnsyncedChanges::open(const std::string& path, uint64_t size) {
  std::shared_ptr<FileDurability>& file = files_[normal(path)];
  if (!file) file = std::make_shared<FileDurability>(FileDurability{size, size});
  if (size < file->written) file->truncate_durably(size);
  if (size == 0) file->sync_failed = false;  // it has no page that the failed sync lost
  return file;
}

std::shared_ptr<FileDurability> UnsyncedChanges::find(const std::string& path) const {
  auto found = files_.find(normal(path));
  return found == files_.end() ? nullptr : found->second;
}

void UnsyncedChanges::created(const std::string& path) {
  changes_.push_back({Kind::kCreate, normal(path)});
}

IOStatus UnsyncedChanges::remove(const std::string& path) {
  if (!exists(path)) return disk_.DeleteFile(path, IOOptions(), nullptr);
  Change change{Kind::kRemove, normal(path)};
  IOStatus status = keep(change);
  if (status.ok()) changes_.push_back(std::move(change));
  return status;
}

IOStatus UnsyncedChanges::rename(const std::string& from, const std::string& to) {
  if (normal(from) == normal(to) || !exists(from)) return disk_.RenameFile(from, to, IOOptions(), nullptr);
  Change change{Kind::kRename, normal(to), normal(from)};
  if (exists(to)) {
    IOStatus status = keep(change);
    if (!status.ok()) return status;
  }
  IOStatus status = disk_.RenameFile(from, to, IOOptions(), nullptr);
  if (!status.ok()) {
    undo(change);
    return status;
  }
  if (auto file = take(change.from)) files_[change.path] = std::move(file);
  changes_.push_back(std::move(change));
  return status;
}

IOStatus UnsyncedChanges::link(const std::string& from, const std::string& to) {
  IOStatus status = disk_.LinkFile(from, to, IOOptions(), nullptr);
  if (!status.ok()) return status;
  if (auto file = find(from)) files_[normal(to)] = std::move(file);
  created(to);
  return status;
}

void UnsyncedChanges::sync_directory(const std::string& directory) {
  std::string name = normal(directory);
  auto durable = std::stable_partition(changes_.begin(), changes_.end(),
                                       [&](const Change& change) { return directory_of(change.path) != name; });
  for (auto change = durable; change != changes_.end(); ++change) {
    if (!change->kept.empty()) must(disk_.DeleteFile(change->kept, IOOptions(), nullptr));
  }
  changes_.erase(durable, changes_.end());
}

void UnsyncedChanges::drop(std::optional<uint64_t> torn_seed, bool reordered) {
  for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) undo(*change);
  changes_.clear();
  std::mt19937_64 random(torn_seed.value_or(0));
  for (auto& [path, file] : files_) {
    if (!exists(path)) continue;  // a start removed it around this file system
    drop_end(path, *file, torn_seed.has_value(), reordered, random);
    file->truncate_durably(std::filesystem::file_size(path));  // no longer than the file, should a start have cut it
    if (!file->overwrites.empty()) take_back(path, file->overwrites, torn_seed.has_value(), reordered, random);
    file->overwrites.clear();  // the file may have a second name
  }
  files_.clear();
}

// Of the bytes that are not durable, a part stays; or the end that was cut off comes back.
void UnsyncedChanges::drop_end(const std::string& path, FileDurability& file, bool torn, bool reordered,
                               std::mt19937_64& random) {
  if (file.cut_off && (!torn || random() % 2 == 0)) {
    restore_end(path, *file.cut_off);
    file.durable = file.written = file.cut_off->end();
    return;
  }
  const uint64_t unsynced = file.written - file.durable;
  const uint64_t kept = torn ? random() % (unsynced + 1) : 0;
  if (kept < unsynced) must_resize(path, file.durable + kept);
  if (reordered) zero_sectors(path, file.durable, file.durable + kept, random);
}

uint64_t UnsyncedChanges::bytes() const {
  uint64_t sum = 0;
  for (const auto& [path, file] : files_) {
    sum += file->written - file->durable + (file->cut_off ? file->cut_off->before.size() : 0);
    for (const Overwrite& overwrite : file->overwrites) sum += overwrite.before.size();
  }
  return sum;
}

bool UnsyncedChanges::exists(const std::string& path) const {
  return disk_.FileExists(path, IOOptions(), nullptr).ok();
}

IOStatus UnsyncedChanges::keep(Change& change) {
  std::string directory = directory_of(change.path) + ".kept";
  IOStatus status = disk_.CreateDirIfMissing(directory, IOOptions(), nullptr);
  if (!status.ok()) return status;
  kept_directories_.insert(directory);
  std::string kept = directory + "/" + std::to_string(next_kept_++);
  status = disk_.RenameFile(change.path, kept, IOOptions(), nullptr);
  if (!status.ok()) return status;
  change.kept = std::move(kept);
  change.kept_file = take(change.path);
  return status;
}

void UnsyncedChanges::undo(const Change& change) {
  if (change.kind == Kind::kCreate && exists(change.path)) {
    must(disk_.DeleteFile(change.path, IOOptions(), nullptr));
    take(change.path);
  }
  if (change.kind == Kind::kRename && exists(change.path)) move(change.path, change.from);
  if (change.kept.empty()) return;
  must(disk_.RenameFile(change.kept, change.path, IOOptions(), nullptr));
  if (change.kept_file) files_[change.path] = change.kept_file;
}

void UnsyncedChanges::move(const std::string& from, const std::string& to) {
  must(disk_.RenameFile(from, to, IOOptions(), nullptr));
  if (auto file = take(from)) files_[to] = std::move(file);
}

std::shared_ptr<FileDurability> UnsyncedChanges::take(const std::string& path) {
  auto found = files_.find(path);
  if (found == files_.end()) return nullptr;
  std::shared_ptr<FileDurability> file = std::move(found->second);
  files_.erase(found);
  return file;
}

}  // namespace fathom::store
