// RecordReader: a stretch of a file as perf's records, those that perf compressed (`perf record -z`) among them.
//
// Purpose: the one place that knows how records follow each other. They are read through a window, and unpacked piece
// by piece, whatever their number. Thread safety: none. Ownership: refers to the descriptor of the caller. Errors:
// those of reading and of the visitor; kExhausted when compressed records hold far more than records do. Damage ends
// the records (or those that are compressed) early and is counted: what stands before it is good.
// Source: perf.data-file-format.txt of the kernel; zstd's streaming interface.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "snapshot/import/perf_inflater.h"
#include "snapshot/import/perf_layout.h"

namespace fathom::snapshot::perf {

struct Section {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// What could not be read.
struct RecordLosses {
  uint64_t bytes_missing = 0;             // of the last record and its data, behind the end
  uint64_t bytes_cut = 0;                 // of records that go on behind the end, as many as are there
  uint64_t bytes_damaged = 0;             // from a damaged record on
  uint64_t compressed_bytes_damaged = 0;  // from where compressed records could not be unpacked on
};

class RecordReader {
 public:
  RecordReader(const Fd& file, Section records) : file_(file), records_(records) {}

  // Calls for each record, in order. An error of the visitor ends it.
  Result<> each(const RecordVisitor& visitor);
  // Once each() is done.
  const RecordLosses& losses() const { return losses_; }

 private:
  const Fd& file_;
  const Section records_;
  RecordLosses losses_;
};

}  // namespace fathom::snapshot::perf
