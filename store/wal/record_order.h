// Finds the records of RocksDB's logs that a disk wrote to a wrong place.
//
// Purpose: a disk that writes a part of one file into a log leaves intact records there: records of a log a second
// time, or records of a manifest. RocksDB ends the process if it reads a record twice, and may apply an old one last.
// Such records break the ascending order of RocksDB's sequence numbers, or are no serialized WriteBatch.
// Algorithm: the records that stay are a longest ascending chain through all logs, the oldest log first (patience
// sorting, O(n log n)). Shapes: records are numbered from 0 in their log. Thread safety: plain functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace fathom::store {

using RecordNumbers = std::set<size_t>;

// The sequence numbers of consecutive entries: first <= number < end.
struct SequenceRange {
  uint64_t first = 0;
  uint64_t end = std::numeric_limits<uint64_t>::max();
  bool contains(const SequenceRange& part) const { return first <= part.first && part.end <= end; }
  bool operator==(const SequenceRange&) const = default;
};

// The sequence numbers of each record of a log; nothing for a record that is no WriteBatch.
using LogSequences = std::vector<std::optional<SequenceRange>>;

std::optional<SequenceRange> sequences_of(std::string_view record);

// For each log the sequence numbers that can be its own, because the logs before and behind it have the others.
std::vector<SequenceRange> ranges_of(const std::vector<LogSequences>& logs);

// The records that are out of place in a log whose own sequence numbers are within `range`.
RecordNumbers misplaced_in(const LogSequences& log, const SequenceRange& range);

// `misplaced`, and the records that they repeat: either of the two may be the one in the wrong place.
RecordNumbers with_repeated(const LogSequences& log, const RecordNumbers& misplaced);

}  // namespace fathom::store
