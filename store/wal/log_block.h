// One block of a RocksDB log: its intact fragments, and where reading resumes after damage.
//
// Purpose: RocksDB's reader skips the rest of a block, or of the whole log, at the first wrong checksum; this reader
// finds every intact fragment. Shapes: docs/formats/wal.md. A block is 32 KiB, less at the end
// of the log, and no fragment crosses its end. Thread safety: none needed, plain values; views point into the block.
// A header with one wrong bit is corrected if the checksum proves that exactly one correction is possible.
// The input is hostile: a span's value may contain what looks like fragments. So the inside of a fragment is searched
// only where its header does not say where it ends, and what is found must lead to the end of the block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fathom::store {

inline constexpr size_t kLogBlockBytes = 32 << 10;
inline constexpr size_t kFragmentHeaderBytes = 7;
inline constexpr uint32_t kCrc32cPolynomial = 0x1EDC6F41;

enum class FragmentType : uint8_t { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

struct Fragment {
  FragmentType type = FragmentType::kFull;
  std::string_view payload;
  bool corrected = false;  // its header had a wrong bit, so RocksDB cannot read it
};

// CRC-32C of the type and the payload, masked as RocksDB does.
uint32_t fragment_checksum(FragmentType type, std::string_view payload);
// The CRC that a masked checksum stands for.
uint32_t unmasked_crc(uint32_t checksum);

class LogBlock {
 public:
  enum class Part {
    kFragment,
    kDamage,      // unreadable bytes
    kIncomplete,  // the log ends within this fragment
    kEnd,
  };

  // `last`: the log ends with this block. No fragment begins behind `data_bytes`; the last one may end there.
  LogBlock(std::string_view bytes, bool last, uint64_t data_bytes = kLogBlockBytes)
      : bytes_(bytes), data_end_(std::min<uint64_t>(bytes.size(), data_bytes)), last_(last) {}

  Part next();
  // The part that next() returned: its position in the block and, for kFragment, the fragment.
  size_t offset() const { return offset_; }
  size_t size() const { return at_ - offset_; }
  const Fragment& fragment() const { return fragment_; }

 private:
  size_t left(size_t at) const { return bytes_.size() - at; }
  bool ends_at(size_t at) const;
  std::optional<Fragment> read(size_t at) const;
  std::optional<Fragment> read_as(size_t at, uint8_t type, size_t length) const;
  std::optional<Fragment> correct(size_t at) const;
  size_t end_of(const Fragment& fragment) const;
  size_t find_next(size_t at) const;
  size_t first_of_chain(size_t from) const;
  bool is_incomplete(size_t at) const;

  const std::string_view bytes_;
  const size_t data_end_;
  const bool last_;
  size_t at_ = 0;
  size_t offset_ = 0;
  Fragment fragment_;
};

}  // namespace fathom::store
