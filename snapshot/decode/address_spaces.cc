#include "snapshot/decode/address_spaces.h"

#include <algorithm>
#include <cassert>

namespace fathom::snapshot {
namespace {

constexpr size_t kMostSpaces = 256;
// Instructions are at most this long.
constexpr uint64_t kMostInstructionBytes = pt_max_insn_size;

}  // namespace

pt_image* AddressSpaces::image(std::span<const MappedRange> ranges) {
  if (spaces_.size() >= kMostSpaces && !spaces_.contains(ranges.data())) spaces_.clear();
  Space& space = spaces_[ranges.data()];
  if (!space.image) space.image.reset(pt_image_alloc(nullptr));
  assert(space.image != nullptr);
  space.ranges = ranges;
  current_ = &space;
  return space.image.get();
}

bool AddressSpaces::add(uint64_t address) {
  if (current_ == nullptr || !add_section(*current_, address)) {
    // An instruction that begins in one section and ends in the next one.
    for (uint64_t ahead = 1; current_ != nullptr && ahead < kMostInstructionBytes; ++ahead) {
      if (add_section(*current_, address + ahead)) return true;
    }
    return false;
  }
  return true;
}

bool AddressSpaces::add_section(Space& space, uint64_t address) {
  const MappedRange* range = find_range(space.ranges, address);
  if (range == nullptr) return false;
  const int section = sections_.section(*range, address);
  if (section == 0 || std::ranges::find(space.sections, section) != space.sections.end()) return false;
  if (pt_image_add_cached(space.image.get(), sections_.cache(), section, nullptr) < 0) return false;
  space.sections.push_back(section);
  return true;
}

}  // namespace fathom::snapshot
