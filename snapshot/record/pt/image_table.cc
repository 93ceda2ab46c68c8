#include "snapshot/record/pt/image_table.h"

#include <sys/auxv.h>

#include <algorithm>

#include "snapshot/format/unkept_images.h"
#include "snapshot/record/pt/build_id.h"
#include "snapshot/record/pt/mapped_file.h"

namespace fathom::snapshot {
namespace {

constexpr std::string_view kVdso = "[vdso]";
constexpr uint64_t kMostVdsoBytes = 64 << 10;

// The same file under the same name; vDSOs are all the same, as long as no process is 32 bits wide.
std::string identity_of(const PerfMapping& mapping) {
  if (!mapping.build_id.empty()) return mapping.file + '\0' + mapping.build_id;
  return mapping.file + '\0' + std::to_string(mapping.device_major) + ':' + std::to_string(mapping.device_minor) + ':' +
         std::to_string(mapping.inode);
}

bool has_no_image(const std::string& file) {
  return file.empty() || file == "//anon" || (file.front() == '[' && file != kVdso) || file.starts_with("/SYSV") ||
         file.starts_with("//");
}

std::string read_memory(const std::string& path, uint64_t address, uint64_t bytes) {
  Fd memory(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string content(std::min(bytes, kMostVdsoBytes), '\0');
  if (!memory.open()) return {};
  const ssize_t got = ::pread(memory.get(), content.data(), content.size(), static_cast<off_t>(address));
  return got == static_cast<ssize_t>(content.size()) ? content : std::string();
}

}  // namespace

uint32_t ImageTable::of_mapping(const Sideband& row, const PerfMapping& mapping) {
  if (has_no_image(mapping.file) || (row.flags & kFlagKernel)) return kNoImage;
  const auto [found, is_new] = by_identity_.try_emplace(identity_of(mapping), static_cast<uint32_t>(entries_.size()));
  if (!is_new) return found->second;
  Entry entry;
  entry.image.name = mapping.file;
  entry.image.build_id = mapping.build_id;
  entry.image.kind = mapping.file == kVdso ? ImageKind::kFlat : ImageKind::kElf;
  entry.row = row;
  entry.mapping = mapping;
  if (open_files_ < kMostOpen && mapping.file != kVdso) open(entry);
  if (entry.file.open()) ++open_files_;
  entries_.push_back(std::move(entry));
  return found->second;
}

uint32_t ImageTable::add(Image image) {
  Entry entry;
  entry.image = std::move(image);
  entry.done = true;
  entries_.push_back(std::move(entry));
  return static_cast<uint32_t>(entries_.size() - 1);
}

void ImageTable::open(Entry& entry) const {
  entry.file = open_mapped_file(system_, entry.row, entry.mapping);
  entry.reachable = rule_ != ImageRule::kReachable || is_reachable(system_, entry.row, entry.mapping);
}

bool ImageTable::is_private(const Entry& entry) const {
  return rule_ != ImageRule::kAll && !(entry.reachable && everybody_may_read(entry.file.get()));
}

void ImageTable::store_file(Entry& entry, const SnapshotDirectory& directory) const {
  if (!entry.file.open()) open(entry);
  if (!entry.file.open()) {
    entry.image.missing = "the file was not there, or not the one that was mapped, when it was to be copied";
    return;
  }
  if (is_private(entry)) {
    entry.image.missing = kPrivateImage;
    return;
  }
  if (entry.image.build_id.empty()) entry.image.build_id = read_build_id(entry.file.get());
  // Each reader of /proc/self/fd/N has a position of its own.
  auto stored = directory.add_image_file("/proc/self/fd/" + std::to_string(entry.file.get()));
  if (!stored) {
    entry.image.missing = why_not_kept(stored.error());
    return;
  }
  entry.image.content = stored->content;
  entry.image.bytes = stored->bytes;
}

void ImageTable::store_vdso(Entry& entry, const SnapshotDirectory& directory) const {
  std::string bytes =
      read_memory(system_.path("/proc/" + std::to_string(entry.row.pid) + "/mem"), entry.row.address, entry.row.length);
  // Its process is gone, or not ours to read: ours is the same one.
  if (bytes.empty()) bytes = read_memory("/proc/self/mem", ::getauxval(AT_SYSINFO_EHDR), entry.row.length);
  auto stored = directory.add_image_bytes(bytes);
  if (bytes.empty() || !stored) {
    entry.image.missing = "no process's vDSO was readable";
    return;
  }
  entry.image.content = stored->content;
  entry.image.bytes = stored->bytes;
}

// Who keeps few of them takes images away when the snapshots that name them have gone elsewhere.
bool ImageTable::is_to_be_copied_again(const Entry& entry, const SnapshotDirectory& directory) {
  return !entry.mapping.file.empty() && !entry.image.content.is_zero() && !directory.has_image(entry.image.content);
}

Image ImageTable::stored(uint32_t image, const SnapshotDirectory& directory) {
  Entry& entry = entries_[image];
  if (entry.done && !is_to_be_copied_again(entry, directory)) return entry.image;
  entry.done = true;
  const bool held = entry.file.open();
  if (entry.image.name == kVdso)
    store_vdso(entry, directory);
  else
    store_file(entry, directory);
  if (held) --open_files_;
  entry.file.close();
  // It is what ran all the same, and who reads the snapshot may have it.
  if (!entry.image.content.is_zero()) entry.image.missing.clear();
  return entry.image;
}

void ImageTable::close_except(const std::set<uint32_t>& named) {
  for (uint32_t i = 0; i < entries_.size(); ++i) {
    if (!entries_[i].file.open() || named.contains(i)) continue;
    entries_[i].file.close();
    --open_files_;
  }
}

}  // namespace fathom::snapshot
