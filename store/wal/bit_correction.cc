#include "store/wal/bit_correction.h"

#include <algorithm>
#include <array>

#include <boost/crc.hpp>

#include "base/bytes.h"

namespace fathom::store {

namespace {

// Without the constants, the CRC of a difference is the difference of the CRCs.
using DifferenceCrc = boost::crc_optimal<32, kCrc32cPolynomial, 0, 0, true, true>;

// Corrects the fragment at an offset and returns the offset behind it.
size_t correct_fragment(std::string& block, size_t at, size_t& corrections) {
  ByteReader in(std::string_view(block).substr(at));
  const uint32_t checksum = in.u32();
  const size_t length = in.fixed<uint16_t>();
  const auto type = static_cast<FragmentType>(in.u8());
  const std::string_view payload = in.raw(length);
  if (in.failed()) return block.size();
  if (const std::optional<size_t> bit = find_wrong_bit(type, payload, checksum)) {
    block[at + kFragmentHeaderBytes + *bit / 8] ^= static_cast<char>(1 << *bit % 8);
    ++corrections;
  }
  return at + kFragmentHeaderBytes + length;
}

size_t correct_block(std::string& block) {
  size_t corrections = 0;
  for (size_t at = 0; at + kFragmentHeaderBytes <= block.size();) at = correct_fragment(block, at, corrections);
  return corrections;
}

}  // namespace

std::optional<size_t> find_wrong_bit(FragmentType type, std::string_view payload, uint32_t checksum) {
  const uint32_t difference = unmasked_crc(checksum) ^ unmasked_crc(fragment_checksum(type, payload));
  if (difference == 0) return std::nullopt;
  std::array<DifferenceCrc, 8> bits;  // each for a bit of the byte under way, and zeros behind it
  for (size_t bit = 0; bit < bits.size(); ++bit) bits[bit].process_byte(static_cast<uint8_t>(1u << bit));
  for (size_t byte = payload.size(); byte-- > 0;) {
    for (size_t bit = 0; bit < bits.size(); ++bit) {
      if (bits[bit].checksum() == difference) return 8 * byte + bit;
      bits[bit].process_byte(0);
    }
  }
  return std::nullopt;
}

Result<size_t> copy_corrected(rocksdb::Env& env, const std::string& from, const std::string& to) {
  std::string bytes, corrected;
  rocksdb::Status status = rocksdb::ReadFileToString(&env, from, &bytes);
  if (!status.ok()) return unavailable("cannot read " + from + ": " + status.ToString());
  size_t corrections = 0;
  for (size_t at = 0; at < bytes.size(); at += kLogBlockBytes) {
    std::string block = bytes.substr(at, kLogBlockBytes);
    corrections += correct_block(block);
    corrected += block;
  }
  status = rocksdb::WriteStringToFile(rocksdb::Env::Default(), corrected, to);
  if (!status.ok()) return unavailable("cannot write " + to + ": " + status.ToString());
  return corrections;
}

}  // namespace fathom::store
