#include "snapshot/import/placed_image.h"

#include <sys/stat.h>

#include <filesystem>

#include "snapshot/format/code_file.h"
#include "snapshot/import/elf_layout.h"

namespace fathom::snapshot {
namespace {

// Its size, when it can be an image.
Result<uint64_t> image_bytes(const Fd& file, const std::string& path) {
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return system_error("cannot look at " + path);
  if (!S_ISREG(about.st_mode)) return invalid("the image " + path + " is no regular file; copy what it shows to one");
  const auto bytes = static_cast<uint64_t>(about.st_size);
  if (bytes <= kMostImageBytes) return bytes;
  return exhausted("the image " + path + " has " + std::to_string(bytes >> 20) + " MiB; " +
                   std::to_string(kMostImageBytes >> 20) +
                   " are the most (of /proc/kcore, take a copy: perf record --kcore)");
}

Sideband map_row(uint64_t address, uint64_t length, uint64_t file_offset, const Placement& placement, size_t image) {
  Sideband row;
  row.kind = SidebandKind::kMap;
  row.pid = row.tid = placement.pid;
  row.flags = placement.flags;
  row.address = address;
  row.length = length;
  row.file_offset = file_offset;
  row.image = static_cast<uint32_t>(image);
  return row;
}

// What stayed of an ELF file may be too little to see that it is one.
constexpr uint64_t kFewestElfBytes = 4;

Result<> map_flat(const ImageFile& file, uint64_t bytes, const Placement& placement, Snapshot& snapshot) {
  if (bytes == 0) return corrupt("it is empty");
  if (!file.base && bytes < kFewestElfBytes) return corrupt("it is cut short before its code");
  if (!file.base) {
    return invalid(file.path + " is no ELF file, so nothing says where it lay in memory; write --image " + file.path +
                   "@HEXBASE");
  }
  if (*file.base > UINT64_MAX - bytes) return invalid("the image " + file.path + " does not fit behind its base");
  snapshot.sideband.push_back(map_row(*file.base, bytes, 0, placement, snapshot.images.size()));
  return {};
}

Result<> map_elf(const ImageFile& file, const ElfLayout& elf, const Placement& placement, Snapshot& snapshot) {
  const uint64_t slide = file.base ? *file.base - elf.lowest_page() : placement.slide.value_or(0);
  size_t mapped = 0;
  for (const ElfSegment& segment : elf.segments) {
    const uint64_t address = segment.address + slide;
    if (!segment.executable || address > UINT64_MAX - segment.file_bytes) continue;
    snapshot.sideband.push_back(
        map_row(address, segment.file_bytes, segment.file_offset, placement, snapshot.images.size()));
    ++mapped;
  }
  if (mapped > 0) return {};
  if (elf.cut_short) return corrupt("it is cut short before its code");
  return invalid("the ELF file " + file.path +
                 " has no executable segment that could have run; give the linked program, or its code as a flat file "
                 "with @HEXBASE");
}

Result<> map_elf(const ImageFile& file, const Fd& opened, const Placement& placement, Image& image,
                 Snapshot& snapshot) {
  auto elf = read_elf_layout(opened, file.path);
  if (!elf) return elf.error();
  image.build_id = elf->build_id;
  return map_elf(file, *elf, placement, snapshot);
}

}  // namespace

Result<Fd> open_image(const std::string& path) {
  Fd file = open_code(path);
  if (!file.open()) return system_error("cannot read the image " + path);
  if (auto bytes = image_bytes(file, path); !bytes) return bytes.error();
  return file;
}

Result<> keep_image_file(const SnapshotDirectory& directory, const std::string& path, Image& image) {
  auto stored = directory.add_image_file(path);
  if (!stored) return stored.error();
  image.content = stored->content;
  image.bytes = stored->bytes;
  return {};
}

Result<> add_placed_image(const SnapshotDirectory& directory, const ImageFile& file, const Placement& placement,
                          Snapshot& snapshot) {
  auto opened = open_image(file.path);
  if (!opened) return opened.error();
  auto bytes = image_bytes(*opened, file.path);
  if (!bytes) return bytes.error();
  auto is_elf = is_elf_file(*opened);
  if (!is_elf) return is_elf.error();
  Image image;
  image.name = std::filesystem::absolute(file.path).lexically_normal();
  image.kind = *is_elf ? ImageKind::kElf : ImageKind::kFlat;
  Result<> mapped =
      *is_elf ? map_elf(file, *opened, placement, image, snapshot) : map_flat(file, *bytes, placement, snapshot);
  // A copy that lost its code says nothing of the others.
  if (!mapped && mapped.error().code != ErrorCode::kCorrupt) return mapped;
  if (!mapped) image.missing = mapped.error().message;
  if (mapped) {
    if (auto kept = keep_image_file(directory, file.path, image); !kept) return kept;
  }
  snapshot.images.push_back(std::move(image));
  return {};
}

}  // namespace fathom::snapshot
