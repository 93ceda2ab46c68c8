#include "snapshot/import/image_finder.h"

#include <algorithm>
#include <optional>

#include "base/ids.h"
#include "snapshot/import/elf_layout.h"
#include "snapshot/import/own_vdso.h"
#include "snapshot/import/placed_image.h"

namespace fathom::snapshot {
namespace {

constexpr std::string_view kDeleted = " (deleted)";
constexpr std::string_view kVdso = "[vdso]";

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_kernel(const Image& image) {
  return image.name == perf::kKernelImage;
}

bool is_module(const Image& image) {
  return image.name.ends_with(".ko") || image.name.find(".ko.") != std::string::npos;
}

// A file on the disk at some time, as opposed to what the kernel calls memory that is none.
bool is_path(const std::string& name) {
  static constexpr std::string_view kNone[] = {"//anon", "/dev/", "/memfd:", "/SYSV", "/anon_hugepage"};
  return name.starts_with('/') &&
         std::ranges::none_of(kNone, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

std::string cure(const Image& image) {
  if (image.build_id.empty()) return "; --symfs DIR or --image FILE gives it";
  return "; --image FILE gives it (build-id " + to_hex(image.build_id) + ")";
}

class ImageFinder {
 public:
  ImageFinder(const SnapshotDirectory& directory, const ImageSearch& search, Snapshot& snapshot)
      : directory_(directory), search_(search), snapshot_(snapshot) {}

  Result<> run() {
    if (auto named = take_named_files(); !named) return named;
    for (Image& image : snapshot_.images) find(image);
    if (auto placed = place_files(); !placed) return placed;
    add_kernel_names();
    return {};
  }

 private:
  struct Named {
    ImageFile file;
    std::string build_id;
    bool core = false;
    uint64_t lowest_code = 0;
    bool used = false;
  };

  Result<> take_named_files() {
    for (const ImageFile& file : search_.options.images) {
      auto opened = open_image(file.path);
      if (!opened) return opened.error();
      Named named{file, {}, false, 0, false};
      if (auto elf = read_elf_layout(*opened, file.path)) {
        named.build_id = elf->build_id;
        named.core = elf->core;
        named.lowest_code = lowest_code(*elf);
      }
      named_.push_back(std::move(named));
    }
    if (!search_.options.kcore.empty()) named_.push_back({{search_.options.kcore, {}}, {}, true, kUpperHalf, false});
    return {};
  }

  static uint64_t lowest_code(const ElfLayout& elf) {
    uint64_t lowest = UINT64_MAX;
    for (const ElfSegment& segment : elf.segments) {
      if (segment.executable) lowest = std::min(lowest, segment.address);
    }
    return lowest;
  }

  void find(Image& image) {
    if (is_kernel(image) || is_module(image)) {
      image.missing = std::string(is_kernel(image) ? "the kernel's code" : "a kernel module's code") +
                      " is not in a perf.data; --kcore FILE gives it (perf record --kcore)" +
                      (is_kernel(image) ? ", or --image vmlinux" : "");
      return;
    }
    if (take_from_named(image) || take_own_vdso(image) || take_from_path(image) || take_from_cache(image)) return;
    if (image.missing.empty()) image.missing = reason(image) + cure(image);
  }

  std::string reason(const Image& image) const {
    if (image.name == kVdso) return "the kernel's [vdso] of then is not that of this host";
    if (!is_path(image.name)) return "code that was made while the program ran, of which perf.data keeps no copy";
    return "not found on this host";
  }

  bool take_from_named(Image& image) {
    for (Named& named : named_) {
      const bool same = image.build_id.empty() ? base_name(named.file.path) == base_name(image.name)
                                               : named.build_id == image.build_id;
      if (named.file.base || named.core || !same) continue;
      named.used = keep(named.file.path, image);
      if (named.used) return true;
    }
    return false;
  }

  bool take_own_vdso(Image& image) const {
    if (image.name != kVdso || image.build_id.empty()) return false;
    const auto own = own_vdso();
    if (!own || own->build_id != image.build_id) return false;
    auto stored = directory_.add_image_bytes(own->bytes);
    if (!stored) return false;
    image.content = stored->content;
    image.bytes = stored->bytes;
    return true;
  }

  bool take_from_path(Image& image) const {
    if (!is_path(image.name)) return false;
    const bool deleted = image.name.ends_with(kDeleted);
    const std::string name = deleted ? image.name.substr(0, image.name.size() - kDeleted.size()) : image.name;
    const std::string path = search_.options.symfs + name;
    auto elf = read_elf_layout(path);
    if (!elf) return false;
    if (image.build_id.empty()) {
      const bool trusted = !deleted && (search_.same_host || !search_.options.symfs.empty());
      if (trusted) return keep(path, image);
      image.missing = deleted ? "the file was replaced while it ran, and no build-id says which one here it is"
                              : "recorded on another host, without a build-id to know it by";
      image.missing += cure(image);
      return false;
    }
    if (elf->build_id == image.build_id) return keep(path, image);
    image.missing = "the file here is another one (build-id " +
                    (elf->build_id.empty() ? "none" : to_hex(elf->build_id)) + ")" + cure(image);
    return false;
  }

  // perf's own copies: .build-id/xx/yyyy is a directory with the file in it, or the file.
  bool take_from_cache(Image& image) const {
    if (image.build_id.empty() || search_.options.debug_directory.empty()) return false;
    const std::string hex = to_hex(image.build_id);
    const std::string place = search_.options.debug_directory + "/.build-id/" + hex.substr(0, 2) + "/" + hex.substr(2);
    for (const char* file : {"/elf", "/vdso", ""}) {
      auto elf = read_elf_layout(place + file);
      if (elf && elf->build_id == image.build_id && keep(place + file, image)) return true;
    }
    return false;
  }

  bool keep(const std::string& path, Image& image) const {
    auto opened = open_image(path);
    if (!opened) return false;
    auto kept = keep_image_file(directory_, path, image);
    if (kept) image.missing.clear();
    return kept.ok();
  }

  // perf puts what /proc/kallsyms said beside its copy of the kernel. Without it the kernel's code has no names.
  void add_kernel_names() {
    const std::string& kcore = search_.options.kcore;
    if (kcore.empty()) return;
    Image names{std::string(perf::kKernelImage), {}, ImageKind::kFlat, {}, 0, {}};
    if (keep(kcore.substr(0, kcore.rfind('/') + 1) + "kallsyms", names)) snapshot_.images.push_back(std::move(names));
  }

  // Files with a base, and the kernel's: they come with maps of their own.
  Result<> place_files() {
    for (Named& named : named_) {
      auto placement = placement_of(named);
      if (!placement) return placement.error();
      if (named.used) continue;
      const bool of_kernel = (named.file.base.value_or(named.lowest_code) & kUpperHalf) != 0;
      if (of_kernel) remove_kernel_maps(named.core);
      if (auto placed = add_placed_image(directory_, named.file, *placement, snapshot_); !placed) return placed;
    }
    return {};
  }

  Result<Placement> placement_of(const Named& named) const {
    Placement placement{.pid = -1, .flags = kFlagKernel, .slide = {}};
    const bool is_vmlinux = !named.file.base && !named.core && (named.lowest_code & kUpperHalf) != 0;
    if (named.used || named.file.base || named.core) return placement;
    if (is_vmlinux && search_.kernel.text_address != 0) {
      placement.slide = search_.kernel.text_address - named.lowest_code;
      return placement;
    }
    if (is_vmlinux) {
      return invalid("the perf.data does not say where the kernel lay; write --image " + named.file.path +
                     "@HEXBASE, the address of _text in /proc/kallsyms then");
    }
    return invalid("nothing that was recorded is " + named.file.path +
                   (named.build_id.empty() ? "" : " (build-id " + to_hex(named.build_id) + ")") +
                   "; to place it all the same, write --image " + named.file.path + "@HEXBASE");
  }

  // What is placed says better what lay there. A copy of the kernel's memory has its modules' code, too.
  void remove_kernel_maps(bool modules) {
    std::erase_if(snapshot_.sideband, [&](const Sideband& row) {
      if (row.kind != SidebandKind::kMap || row.image == kNoImage) return false;
      const Image& image = snapshot_.images[row.image];
      return image.missing.empty() ? false : is_kernel(image) || (modules && is_module(image));
    });
  }

  const SnapshotDirectory& directory_;
  const ImageSearch& search_;
  Snapshot& snapshot_;
  std::vector<Named> named_;
};

}  // namespace

Result<> find_images(const SnapshotDirectory& directory, const ImageSearch& search, Snapshot& snapshot) {
  return ImageFinder(directory, search, snapshot).run();
}

}  // namespace fathom::snapshot
