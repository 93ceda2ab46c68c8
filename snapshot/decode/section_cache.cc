#include "snapshot/decode/section_cache.h"

#include <sys/stat.h>

#include <algorithm>
#include <cassert>

namespace fathom::snapshot {
namespace {

// libipt keeps four bytes for each byte of code beside the code itself. Addresses, not memory: only what ran is
// touched.
constexpr uint64_t kMostMappedBytes = 384u << 20;
// Larger ranges are several sections; a step from one to the next costs a look-up.
constexpr uint64_t kSectionBytes = 4u << 20;

}  // namespace

SectionCache::SectionCache(const Snapshot& snapshot, const SnapshotDirectory& directory)
    : snapshot_(snapshot), cache_(pt_iscache_alloc(nullptr)), patches_(snapshot) {
  assert(cache_ != nullptr);
  pt_iscache_set_limit(cache_, kMostMappedBytes);
  sources_.reserve(snapshot.images.size());
  for (const auto& image : snapshot.images) sources_.push_back(look_at(image, directory));
}

SectionCache::~SectionCache() {
  pt_iscache_free(cache_);
}

SectionCache::Source SectionCache::look_at(const Image& image, const SnapshotDirectory& directory) {
  Source source;
  if (image.content == Sha256{}) {
    source.missing = image.name + ": " + (image.missing.empty() ? "its bytes were not kept" : image.missing);
    return source;
  }
  source.path = directory.image_path(image.content);
  struct stat about {};
  if (::stat(source.path.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) {
    source.missing = image.name + ": its copy is not in the snapshots' directory";
    return source;
  }
  source.bytes = static_cast<uint64_t>(about.st_size);
  source.missing =
      image.name + (source.bytes < image.bytes ? ": its copy is cut short" : ": the file ends before its map");
  return source;
}

int SectionCache::section(const MappedRange& range, uint64_t address) {
  if (range.patch != 0) return patch_section(range);
  if (range.image >= sources_.size()) return 0;
  const Source& source = sources_[range.image];
  const uint64_t skipped = (address - range.begin) / kSectionBytes * kSectionBytes;
  const uint64_t begin = range.begin + skipped;
  const uint64_t offset = range.file_offset + skipped;
  if (offset >= source.bytes || address - begin >= source.bytes - offset) return 0;
  const uint64_t bytes = std::min({range.end - begin, kSectionBytes, source.bytes - offset});
  return add({range.image, offset, bytes, begin}, source.path);
}

int SectionCache::patch_section(const MappedRange& range) {
  const auto offset = patches_.offset(range);
  const uint64_t bytes = patch_bytes(snapshot_, range).size();
  if (!offset || bytes == 0) return 0;
  return add({kNoImage, *offset, bytes, range.begin}, patches_.path());
}

int SectionCache::add(const Key& key, const std::string& path) {
  const auto& [image, offset, bytes, begin] = key;
  std::lock_guard hold(lock_);
  auto [at, fresh] = sections_.try_emplace(key, 0);
  if (fresh) at->second = std::max(0, pt_iscache_add_file(cache_, path.c_str(), offset, bytes, begin));
  return at->second;
}

std::string SectionCache::missing(const MappedRange& range) const {
  if (range.image >= sources_.size()) return "the map names no image";
  return sources_[range.image].missing;
}

size_t SectionCache::read(int section, uint64_t address, uint8_t* bytes, size_t size) const {
  const int got = pt_iscache_read(cache_, bytes, size, section, address);
  return got > 0 ? static_cast<size_t>(got) : 0;
}

}  // namespace fathom::snapshot
