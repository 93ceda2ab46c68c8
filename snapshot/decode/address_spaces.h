// AddressSpaces: libipt's images for address spaces, filled as code runs in them; one per decoding thread.
//
// Purpose: a process has hundreds of maps and runs in a few; libipt looks through its sections one by one. Thread
// safety: none. Errors: none; a section that cannot be had is missing().
#pragma once

#include <intel-pt.h>

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>

#include "snapshot/decode/section_cache.h"

namespace fathom::snapshot {

class AddressSpaces {
 public:
  explicit AddressSpaces(SectionCache& sections) : sections_(sections) {}

  // The image of `ranges` (of a MemoryMap, which knows equal ones by their place). Valid until the next call.
  pt_image* image(std::span<const MappedRange> ranges);
  // Adds what holds `address` to the image that was asked for last. False: there is no such code, or it is there
  // already.
  bool add(uint64_t address);

  bool has(const MappedRange& range, uint64_t address) const { return sections_.section(range, address) != 0; }
  std::string missing(const MappedRange& range) const { return sections_.missing(range); }

 private:
  struct Free {
    void operator()(pt_image* image) const { pt_image_free(image); }
  };
  struct Space {
    std::unique_ptr<pt_image, Free> image;
    std::span<const MappedRange> ranges;
    std::vector<int> sections;
  };
  bool add_section(Space& space, uint64_t address);

  SectionCache& sections_;
  std::unordered_map<const MappedRange*, Space> spaces_;
  Space* current_ = nullptr;
};

}  // namespace fathom::snapshot
