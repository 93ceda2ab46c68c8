#include "store/wal/bit_correction.h"

#include <array>

#include <boost/crc.hpp>

#include "base/bytes.h"

namespace fathom::store {

namespace {

// Without the constants, the CRC of a difference is the difference of the CRCs.
using DifferenceCrc = boost::crc_optimal<32, kCrc32cPolynomial, 0, 0, true, true>;

bool correct_fragment(std::string& block, size_t at) {
  ByteReader in(std::string_view(block).substr(at));
  const uint32_t checksum = in.u32();
  const size_t length = in.fixed<uint16_t>();
  const auto type = static_cast<FragmentType>(in.u8());
  const std::string_view payload = in.raw(length);
  const std::optional<size_t> bit = in.failed() ? std::nullopt : find_wrong_bit(type, payload, checksum);
  if (bit) block[at + kFragmentHeaderBytes + *bit / 8] ^= static_cast<char>(1 << *bit % 8);
  return bit.has_value();
}

// Behind damage that cannot be corrected, LogBlock finds the next fragment.
bool correct_first(std::string& block, bool last) {
  LogBlock parts(block, last);
  for (LogBlock::Part part = parts.next(); part != LogBlock::Part::kEnd; part = parts.next()) {
    if (part == LogBlock::Part::kDamage && correct_fragment(block, parts.offset())) return true;
  }
  return false;
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
  std::string bytes;
  rocksdb::Status status = rocksdb::ReadFileToString(&env, from, &bytes);
  if (!status.ok()) return unavailable("cannot read " + from + ": " + status.ToString());
  size_t corrections = 0;
  for (size_t at = 0; at < bytes.size(); at += kLogBlockBytes) {
    std::string block = bytes.substr(at, kLogBlockBytes);
    while (correct_first(block, at + kLogBlockBytes >= bytes.size())) ++corrections;
    bytes.replace(at, block.size(), block);
  }
  status = rocksdb::WriteStringToFile(rocksdb::Env::Default(), bytes, to);
  if (!status.ok()) return unavailable("cannot write " + to + ": " + status.ToString());
  return corrections;
}

}  // namespace fathom::store
