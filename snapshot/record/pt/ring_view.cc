#include "snapshot/record/pt/ring_view.h"

#include <algorithm>
#include <cstring>

namespace fathom::snapshot {
namespace {

constexpr uint64_t kWordBytes = 8;
constexpr uint64_t kPsbHeaderBytes = 256;  // PSB up to PSBEND takes less than a hundred

bool is_psb(const uint8_t* at) {
  for (uint64_t i = 0; i < kPsbBytes; i += 2) {
    if (at[i] != 0x02 || at[i + 1] != 0x82) return false;
  }
  return true;
}

// Whether this word lies wholly within a PSB, which repeats two bytes.
bool within_psb(const uint8_t* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word == 0x8202820282028202 || word == 0x0282028202820282;
}

// PSBs around the word at `at`, the last one first. Every PSB holds one whole word at a multiple of eight.
std::optional<uint64_t> psb_around(std::span<const uint8_t> bytes, uint64_t at) {
  for (uint64_t back = 0; back <= kWordBytes && back <= at; ++back) {
    if (at - back + kPsbBytes <= bytes.size() && is_psb(bytes.data() + at - back)) return at - back;
  }
  return std::nullopt;
}

std::optional<uint64_t> last_psb(std::span<const uint8_t> bytes) {
  for (uint64_t at = bytes.size() / kWordBytes * kWordBytes; at >= kWordBytes; at -= kWordBytes) {
    if (!within_psb(bytes.data() + at - kWordBytes)) continue;
    if (auto psb = psb_around(bytes, at - kWordBytes)) return psb;
  }
  return std::nullopt;
}

// Bytes of the packet at `at` of a PSB's header, or 0 when it ends the header.
size_t fup_bytes(uint8_t first) {
  static constexpr size_t kBytes[8] = {1, 3, 5, 7, 7, 1, 9, 1};
  return kBytes[first >> 5];
}

size_t extended_bytes(uint8_t second) {
  switch (second) {
    case 0x43:  // PIP
      return 8;
    case 0x73:  // TMA
    case 0xc8:  // VMCS
      return 7;
    case 0x03:  // CBR
      return 4;
    case 0x82:
      return kPsbBytes;
    default:  // PSBEND, OVF, and whatever does not belong here
      return 0;
  }
}

size_t header_packet_bytes(const uint8_t* at) {
  if (at[0] == 0x02) return extended_bytes(at[1]);
  if (at[0] == 0x00) return 1;                   // PAD
  if (at[0] == 0x99 || at[0] == 0x59) return 2;  // MODE, MTC
  if ((at[0] & 0x1f) == 0x1d) return fup_bytes(at[0]);
  return 0;
}

uint64_t tsc_payload(const uint8_t* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word >> 8;
}

std::optional<uint64_t> tsc_in_header(std::span<const uint8_t> header) {
  size_t at = kPsbBytes;
  while (at + kWordBytes <= header.size()) {
    if (header[at] == 0x19) return tsc_payload(header.data() + at);
    const size_t bytes = header_packet_bytes(header.data() + at);
    if (bytes == 0) break;
    at += bytes;
  }
  return std::nullopt;
}

}  // namespace

uint64_t RingView::copy(uint64_t offset, std::span<uint8_t> out) const {
  uint64_t copied = 0;
  if (offset < older_.size()) {
    copied = std::min<uint64_t>(out.size(), older_.size() - offset);
    std::memcpy(out.data(), older_.data() + offset, copied);
    offset += copied;
  }
  if (offset >= size() || copied == out.size()) return copied;
  const uint64_t more = std::min<uint64_t>(out.size() - copied, size() - offset);
  std::memcpy(out.data() + copied, newer_.data() + (offset - older_.size()), more);
  return copied + more;
}

std::optional<uint64_t> RingView::psb_before(uint64_t end) const {
  const uint64_t seam = older_.size();
  if (end > seam) {
    if (auto psb = last_psb(newer_.first(end - seam))) return seam + *psb;
  }
  // Around the seam: one byte less of a PSB on either side.
  uint8_t around[2 * (kPsbBytes - 1)];
  const uint64_t from = seam - std::min(seam, kPsbBytes - 1);
  const uint64_t to = std::min({end, size(), seam + kPsbBytes - 1});
  if (end > seam && to > from) {
    const uint64_t copied = copy(from, std::span(around).first(to - from));
    for (uint64_t at = copied >= kPsbBytes ? copied - kPsbBytes + 1 : 0; at > 0; --at) {
      if (is_psb(around + at - 1)) return from + at - 1;
    }
  }
  return last_psb(older_.first(std::min(end, seam)));
}

std::optional<uint64_t> RingView::tsc_of_psb(uint64_t psb) const {
  uint8_t header[kPsbHeaderBytes];
  const uint64_t copied = copy(psb, header);
  return tsc_in_header(std::span(header).first(copied));
}

WindowCut cut_window(const RingView& ring, uint64_t begin_tsc, uint64_t most_bytes) {
  const uint64_t oldest = ring.size() - std::min(ring.size(), most_bytes);
  WindowCut cut{ring.size(), false, 0};
  uint64_t end = ring.size();
  while (auto psb = ring.psb_before(end)) {
    if (*psb < oldest) break;
    const auto tsc = ring.tsc_of_psb(*psb);
    cut.begin = *psb;
    cut.first_tsc = tsc.value_or(0);
    // One without a time is a place to begin, but says nothing about how far back it is.
    if (tsc && *tsc <= begin_tsc) return {*psb, true, *tsc};
    end = *psb;
  }
  return cut;
}

}  // namespace fathom::snapshot
