// RecordInflater: the records in COMPRESSED and COMPRESSED2 records, which are pieces of one zstd stream.
//
// Purpose: `perf record -z` compresses what it takes from a ring with one context for each file; a record may begin in
// one piece and end in the next. Thread safety: none. Memory: zstd's window (128 MiB at the most), one record and a
// little more, whatever the input says. Errors: kExhausted when the input holds much more than records do, those of
// the visitor; damage ends it, and is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct ZSTD_DCtx_s;

namespace fathom::snapshot::perf {

struct Record {
  uint32_t type = 0;
  uint16_t misc = 0;
  std::string_view payload;     // behind the record's header
  uint64_t payload_offset = 0;  // of it, in the file; 0 for a record that was compressed, whose bytes lie in no file
  uint64_t data_offset = 0;     // in the file: of what follows the record and is no record, an AUXTRACE's packets
  uint64_t data_bytes = 0;      // as far as they are there

  bool was_compressed() const { return payload_offset == 0; }
};
using RecordVisitor = std::function<Result<>(const Record& record)>;

// Its header, where `bytes` begins with one; `whole` has no bytes when the record is damaged.
struct RecordHeader {
  uint32_t type = 0;
  uint16_t misc = 0;
  uint16_t bytes = 0;  // of header and payload
};
RecordHeader read_record_header(std::string_view bytes);

class RecordInflater {
 public:
  explicit RecordInflater(const RecordVisitor& visitor) : visitor_(visitor) {}

  // The payload of one compressed record.
  Result<> add(std::string_view compressed);

  // Compressed bytes from the damage on, if there was one.
  uint64_t bytes_damaged() const { return bytes_damaged_; }
  // Of a record whose end is in no piece.
  uint64_t bytes_left() const { return pending_.size(); }

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  bool begin();
  // How many bytes it took of `compressed`; 0 for damage.
  size_t inflate(std::string_view compressed);
  Result<> visit_whole_records();
  Result<> check_size() const;

  const RecordVisitor& visitor_;
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
  std::string pending_;
  uint64_t compressed_bytes_ = 0;
  uint64_t inflated_bytes_ = 0;
  uint64_t bytes_damaged_ = 0;
  bool damaged_ = false;
};

}  // namespace fathom::snapshot::perf
