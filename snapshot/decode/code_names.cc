#include "snapshot/decode/code_names.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <mutex>
#include <vector>

#include "base/whole_io.h"
#include "snapshot/decode/kernel_names.h"

namespace fathom::snapshot {
namespace {

constexpr uint64_t kMostKallsymsBytes = 64u << 20;

std::string_view file_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos || slash + 1 == path.size() ? path : path.substr(slash + 1);
}

// An extent of offsets as addresses, as far as the range shows them.
void place_in(const MappedRange& range, const FunctionExtent& extent, CodePlace& place) {
  const uint64_t first = range.file_offset;
  const uint64_t last = range.file_offset + (range.end - range.begin);
  place.begin = extent.begin <= first ? range.begin : range.begin + (extent.begin - first);
  place.end = extent.end >= last ? range.end : range.begin + (extent.end - first);
  place.function = extent.function;
}

}  // namespace

struct CodeNames::State {
  State(const Snapshot& the_snapshot, const SnapshotDirectory& the_directory, const MemoryMap& the_map)
      : snapshot(the_snapshot),
        directory(the_directory),
        map(the_map),
        symbols(the_snapshot.images.size()),
        kernel(the_snapshot) {
    for (const Image& image : snapshot.images) {
      if (image.name.starts_with("[kernel.kallsyms]")) read_kallsyms(image);
    }
    kernel.settle();
  }

  void read_kallsyms(const Image& image);
  const ImageSymbols& symbols_of(uint32_t image) const;
  std::optional<MappedRange> range_at(int32_t pid, uint64_t tsc, uint64_t ip) const;
  template <typename Found>
  Found in_image(int32_t pid, uint64_t tsc, uint64_t ip, Found (ImageSymbols::*find)(uint64_t) const) const;
  void name_kernel(uint64_t tsc, uint64_t ip, bool is_mapped, CodePlace& place) const;

  const Snapshot& snapshot;
  const SnapshotDirectory& directory;
  const MemoryMap& map;
  mutable std::mutex lock;  // guards the pointers; what they point to stays
  mutable std::vector<std::unique_ptr<ImageSymbols>> symbols;
  KernelNames kernel;
};

// Text of the kernel is an image too; what is no list of symbols yields none.
void CodeNames::State::read_kallsyms(const Image& image) {
  if (image.bytes == 0 || image.bytes > kMostKallsymsBytes || !directory.has_image(image.content)) return;
  const Fd file(::open(directory.image_path(image.content).c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(image.bytes, '\0');
  const std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(text.data()), text.size());
  if (file.open() && read_whole(file.get(), 0, bytes, image.name)) kernel.read_kallsyms(text);
}

const ImageSymbols& CodeNames::State::symbols_of(uint32_t image) const {
  const std::lock_guard guard(lock);
  auto& loaded = symbols[image];
  if (loaded == nullptr) {
    const Image& wanted = snapshot.images[image];
    loaded = ImageSymbols::load(wanted.content == Sha256{} ? "" : directory.image_path(wanted.content), wanted);
  }
  return *loaded;
}

std::optional<MappedRange> CodeNames::State::range_at(int32_t pid, uint64_t tsc, uint64_t ip) const {
  auto range = map.find(pid, tsc, ip);
  if (!range) {
    // Packets tell time late, maps do not.
    if (const auto later = map.later_space(pid, tsc, ip)) range = *find_range(later->ranges, ip);
  }
  if (range && range->image >= symbols.size()) return std::nullopt;
  return range;
}

template <typename Found>
Found CodeNames::State::in_image(int32_t pid, uint64_t tsc, uint64_t ip,
                                 Found (ImageSymbols::*find)(uint64_t) const) const {
  const auto range = range_at(pid, tsc, ip);
  if (!range) return {};
  return (symbols_of(range->image).*find)(range->file_offset + (ip - range->begin));
}

void CodeNames::State::name_kernel(uint64_t tsc, uint64_t ip, bool is_mapped, CodePlace& place) const {
  const FunctionExtent extent = kernel.find(ip, tsc);
  if (extent.function != nullptr) {
    place.function = extent.function;
    place.function_offset = ip - extent.function->begin;
  } else if (!is_mapped) {
    return;
  }
  place.begin = is_mapped ? std::max(place.begin, extent.begin) : extent.begin;
  place.end = is_mapped ? std::min(place.end, extent.end) : extent.end;
}

CodeNames::CodeNames(const Snapshot& snapshot, const SnapshotDirectory& directory, const MemoryMap& map)
    : state_(std::make_unique<State>(snapshot, directory, map)) {}
CodeNames::~CodeNames() = default;

CodePlace CodeNames::find(int32_t pid, uint64_t tsc, uint64_t ip) const {
  CodePlace place{.begin = ip, .end = std::max(ip, ip + 1), .image_offset = ip};
  const auto range = state_->range_at(pid, tsc, ip);
  if (range) {
    place.image = &state_->snapshot.images[range->image];
    place.image_offset = range->file_offset + (ip - range->begin);
    place_in(*range, state_->symbols_of(range->image).extent(place.image_offset), place);
  }
  if (place.function != nullptr) {
    place.function_offset = place.image_offset - place.function->begin;
  } else {
    state_->name_kernel(tsc, ip, range.has_value(), place);
  }
  return place;
}

std::optional<SourceLine> CodeNames::line(int32_t pid, uint64_t tsc, uint64_t ip) const {
  return state_->in_image(pid, tsc, ip, &ImageSymbols::line);
}

std::optional<SourceLine> CodeNames::own_line(int32_t pid, uint64_t tsc, uint64_t ip) const {
  return state_->in_image(pid, tsc, ip, &ImageSymbols::own_line);
}

std::vector<SourceFrame> CodeNames::frames(int32_t pid, uint64_t tsc, uint64_t ip) const {
  return state_->in_image(pid, tsc, ip, &ImageSymbols::frames);
}

const ImageSymbols* CodeNames::symbols(uint32_t image) const {
  return image < state_->symbols.size() ? &state_->symbols_of(image) : nullptr;
}

std::vector<const Function*> CodeNames::kernel_named(std::string_view name) const {
  return state_->kernel.named(name);
}

std::string hex_address(uint64_t address) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%" PRIx64, address);
  return text;
}

std::string place_name(const CodePlace& place, uint64_t ip) {
  if (place.function != nullptr) return place.function->name;
  if (place.image == nullptr) return hex_address(ip);
  return std::string(file_name(place.image->name)) + "+" + hex_address(place.image_offset);
}

}  // namespace fathom::snapshot
