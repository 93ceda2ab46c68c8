// LossRecord: the losses that a row under "lost/" holds (docs/formats/wal.md).
//
// Purpose: times are age stamps, so that steps of the wall clock do not change where a loss belongs. They are converted
// to Unix times when somebody asks. Records of version 1 hold Unix times. Thread safety: plain values and functions.
// Errors: decode_loss_record() returns kCorrupt for bytes that are no record.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/clock/age_time.h"
#include "store/span_store.h"

namespace fathom::store {

// As Loss, with times of the record's kind.
struct RecordedLoss {
  uint64_t first_received_nano = 0;
  uint64_t last_received_nano = 0;
  uint64_t found_nano = 0;
  uint64_t bytes = 0;
  std::optional<uint64_t> most_batches;
  bool operator==(const RecordedLoss&) const = default;
};

struct LossRecord {
  bool is_unix = false;  // version 1; otherwise times are age stamps
  std::vector<RecordedLoss> losses;
  bool operator==(const LossRecord&) const = default;
};

std::string encode_loss_record(const LossRecord& record);
Result<LossRecord> decode_loss_record(std::string_view value);

// In Unix time, by the wall clock as `time` knows it. The ranges of starts are the least ones of Loss.
std::vector<Loss> losses_of_record(const LossRecord& record, const AgeTime& time);

}  // namespace fathom::store
