// RingView: the content of a stopped AUX area in the order in which it was written, and the search for PSBs in it.
//
// Purpose: a ring is two pieces of memory, and what we look for may lie around the seam between them; here it is one
// row of bytes, offset 0 being the oldest. Thread safety: const functions; the bytes must not change meanwhile. Errors:
// none; packets are whatever the hardware wrote, or a hostile test. Source of the idea: Intel's manual, volume 3, on
// PSB.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace fathom::snapshot {

class RingView {
 public:
  RingView(std::span<const uint8_t> older, std::span<const uint8_t> newer) : older_(older), newer_(newer) {}

  uint64_t size() const { return older_.size() + newer_.size(); }
  // Copies bytes from `offset` on, as many as there are and fit; says how many.
  uint64_t copy(uint64_t offset, std::span<uint8_t> out) const;
  // The last PSB that ends at or before `end`; its offset.
  std::optional<uint64_t> psb_before(uint64_t end) const;
  // The time of a PSB: the TSC packet of its header, where it has one.
  std::optional<uint64_t> tsc_of_psb(uint64_t psb) const;

 private:
  std::span<const uint8_t> older_;
  std::span<const uint8_t> newer_;
};

inline constexpr uint64_t kPsbBytes = 16;

struct WindowCut {
  uint64_t begin = 0;  // of what is to be copied, which goes on to the end; == size when there is nothing to decode
  bool reaches_back = false;  // packets at or before the window's begin are there: nothing of it was overwritten
  uint64_t first_tsc = 0;     // of the PSB at `begin`; 0: it has none
};

// From the last PSB at or before `begin_tsc` on, or the oldest one that is there. At most `most_bytes`, the newest.
WindowCut cut_window(const RingView& ring, uint64_t begin_tsc, uint64_t most_bytes);

}  // namespace fathom::snapshot
