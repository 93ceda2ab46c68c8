#include "store/wal/log_block.h"

#include <bit>
#include <vector>

#include <boost/crc.hpp>

#include "base/bytes.h"

namespace fathom::store {

namespace {

constexpr int kMaskRotation = 15;
constexpr uint32_t kMaskDelta = 0xa282ead8;

using Crc32c = boost::crc_optimal<32, kCrc32cPolynomial, 0xFFFFFFFF, 0xFFFFFFFF, true, true>;

struct Header {
  uint32_t checksum;
  uint16_t length;
  uint8_t type;
};

Header header_of(std::string_view bytes) {
  ByteReader in(bytes);
  Header header{};
  header.checksum = in.fixed<uint32_t>();
  header.length = in.fixed<uint16_t>();
  header.type = in.u8();
  return header;
}

bool is_type(uint8_t type) {
  return type >= static_cast<uint8_t>(FragmentType::kFull) && type <= static_cast<uint8_t>(FragmentType::kLast);
}

}  // namespace

uint32_t fragment_checksum(FragmentType type, std::string_view payload) {
  Crc32c crc;
  crc.process_byte(static_cast<uint8_t>(type));
  crc.process_bytes(payload.data(), payload.size());
  return std::rotr(static_cast<uint32_t>(crc.checksum()), kMaskRotation) + kMaskDelta;
}

uint32_t unmasked_crc(uint32_t checksum) {
  return std::rotl(checksum - kMaskDelta, kMaskRotation);
}

LogBlock::Part LogBlock::next() {
  offset_ = at_;
  if (ends_at(at_)) return Part::kEnd;
  std::optional<Fragment> found = read(at_);
  if (!found) found = correct(at_);
  if (found) {
    fragment_ = *found;
    at_ = end_of(fragment_);
    return Part::kFragment;
  }
  at_ = find_next(offset_);
  return at_ >= data_end_ && is_incomplete(offset_) ? Part::kIncomplete : Part::kDamage;
}

// A full block may end with zeros, fewer than a header has.
bool LogBlock::ends_at(size_t at) const {
  return at >= data_end_ || (bytes_.size() == kLogBlockBytes && left(at) < kFragmentHeaderBytes);
}

std::optional<Fragment> LogBlock::read(size_t at) const {
  if (left(at) < kFragmentHeaderBytes) return std::nullopt;
  const Header header = header_of(bytes_.substr(at));
  return read_as(at, header.type, header.length);
}

std::optional<Fragment> LogBlock::read_as(size_t at, uint8_t type, size_t length) const {
  if (!is_type(type) || left(at) < kFragmentHeaderBytes + length) return std::nullopt;
  const Fragment fragment{static_cast<FragmentType>(type), bytes_.substr(at + kFragmentHeaderBytes, length)};
  if (fragment_checksum(fragment.type, fragment.payload) != header_of(bytes_.substr(at)).checksum) return std::nullopt;
  return fragment;
}

// Tries every single-bit change of the length, the type and the checksum.
std::optional<Fragment> LogBlock::correct(size_t at) const {
  if (left(at) < kFragmentHeaderBytes) return std::nullopt;
  const Header header = header_of(bytes_.substr(at));
  std::optional<Fragment> found;
  for (int bit = 0; bit < 16 && !found; ++bit) found = read_as(at, header.type, header.length ^ (1u << bit));
  for (int bit = 0; bit < 8 && !found; ++bit) {
    found = read_as(at, static_cast<uint8_t>(header.type ^ (1u << bit)), header.length);
  }
  if (!found && is_type(header.type) && left(at) >= kFragmentHeaderBytes + header.length) {
    const Fragment as_it_says{static_cast<FragmentType>(header.type),
                              bytes_.substr(at + kFragmentHeaderBytes, header.length)};
    if (std::popcount(fragment_checksum(as_it_says.type, as_it_says.payload) ^ header.checksum) == 1)
      found = as_it_says;
  }
  if (found) found->corrected = true;
  return found;
}

size_t LogBlock::end_of(const Fragment& fragment) const {
  return static_cast<size_t>(fragment.payload.data() - bytes_.data()) + fragment.payload.size();
}

// Returns the offset of the next intact fragment, or the end of the data.
size_t LogBlock::find_next(size_t at) const {
  if (left(at) >= kFragmentHeaderBytes) {
    const size_t end = at + kFragmentHeaderBytes + header_of(bytes_.substr(at)).length;
    if (end <= bytes_.size() && (ends_at(end) || read(end))) return end;
  }
  return first_of_chain(at + 1);
}

// The first offset from which one intact fragment follows another up to the end of the block. What looks like fragments
// inside a payload does not end where the payload does. An incomplete last fragment proves nothing.
size_t LogBlock::first_of_chain(size_t from) const {
  size_t first = data_end_;
  std::vector<bool> leads_to_end(bytes_.size() + 1);
  for (size_t at = bytes_.size(); at >= from; --at) {
    std::optional<Fragment> fragment = read(at);
    leads_to_end[at] = fragment ? leads_to_end[end_of(*fragment)] : ends_at(at);
    if (fragment && leads_to_end[at]) first = at;
  }
  return first;
}

bool LogBlock::is_incomplete(size_t at) const {
  if (!last_) return false;
  if (left(at) < kFragmentHeaderBytes) return true;
  const Header header = header_of(bytes_.substr(at));
  return is_type(header.type) && left(at) < kFragmentHeaderBytes + header.length;
}

}  // namespace fathom::store
