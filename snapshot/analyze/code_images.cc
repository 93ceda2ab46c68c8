#include "snapshot/analyze/code_images.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/fd.h"
#include "snapshot/decode/code_patches.h"

namespace fathom::snapshot {
namespace {

std::string_view from(std::string_view bytes, uint64_t offset) {
  return offset < bytes.size() ? bytes.substr(offset) : std::string_view();
}

}  // namespace

class CodeImages::Mapping {
 public:
  Mapping() = default;
  explicit Mapping(const std::string& path) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status {};
    if (!file.open() || ::fstat(file.get(), &status) != 0 || status.st_size <= 0) return;
    const auto size = static_cast<size_t>(status.st_size);
    void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (at != MAP_FAILED) bytes_ = {static_cast<const char*>(at), size};
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }

  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

CodeImages::CodeImages(const Snapshot& snapshot, const SnapshotDirectory& directory)
    : snapshot_(snapshot), directory_(directory), mappings_(snapshot.images.size()) {}
CodeImages::~CodeImages() = default;

const CodeImages::Mapping& CodeImages::mapping(uint32_t image) const {
  const std::lock_guard guard(lock_);
  auto& mapped = mappings_[image];
  if (mapped == nullptr) {
    const Image& wanted = snapshot_.images[image];
    mapped = wanted.content == Sha256{} ? std::make_unique<Mapping>()
                                        : std::make_unique<Mapping>(directory_.image_path(wanted.content));
  }
  return *mapped;
}

std::string_view CodeImages::bytes(const MappedRange& range, uint64_t address) const {
  if (address < range.begin || address >= range.end) return {};
  if (range.patch != 0) return from(patch_bytes(snapshot_, range), address - range.begin);
  if (range.image >= mappings_.size()) return {};
  const std::string_view all = mapping(range.image).bytes();
  const uint64_t offset = range.file_offset + (address - range.begin);
  return offset < all.size() ? all.substr(offset, range.end - address) : std::string_view();
}

}  // namespace fathom::snapshot
