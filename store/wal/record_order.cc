#include "store/wal/record_order.h"

#include <algorithm>
#include <string>
#include <utility>

#include <rocksdb/write_batch.h>

#include "base/bytes.h"
#include "store/wal/batch_handler.h"

namespace fathom::store {

namespace {

constexpr uint64_t kMostSequence = (uint64_t{1} << 56) - 1;  // of RocksDB's internal keys

struct Place {
  size_t log = 0;
  size_t record = 0;
  SequenceRange sequences;
};

void append_places(const LogSequences& log, size_t number, const SequenceRange& range, std::vector<Place>& places) {
  for (size_t record = 0; record < log.size(); ++record) {
    if (log[record] && range.contains(*log[record])) places.push_back({number, record, *log[record]});
  }
}

bool is_ascending(const std::vector<Place>& places) {
  const auto broken = std::ranges::adjacent_find(
      places, [](const Place& a, const Place& b) { return b.sequences.first < a.sequences.end; });
  return broken == places.end();
}

// Of all chains of the same length, the one with the lowest end is continued; of equal ends the later one, because
// RocksDB does not read a stray copy of a log under a number that it has passed.
std::vector<Place> longest_chain(const std::vector<Place>& places) {
  constexpr size_t kNone = std::numeric_limits<size_t>::max();
  std::vector<size_t> last_of_length;  // [n]: the last place of the best chain with n + 1 places
  std::vector<size_t> previous(places.size(), kNone);
  const auto end_of = [&](size_t place) { return places[place].sequences.end; };
  for (size_t at = 0; at < places.size(); ++at) {
    const auto longer = std::ranges::upper_bound(last_of_length, places[at].sequences.first, {}, end_of);
    if (longer != last_of_length.begin()) previous[at] = *std::prev(longer);
    if (longer == last_of_length.end()) {
      last_of_length.push_back(at);
    } else if (end_of(at) <= end_of(*longer)) {
      *longer = at;
    }
  }
  std::vector<Place> chain;
  for (size_t at = last_of_length.empty() ? kNone : last_of_length.back(); at != kNone; at = previous[at]) {
    chain.push_back(places[at]);
  }
  std::ranges::reverse(chain);
  return chain;
}

std::vector<Place> in_order(std::vector<Place> places) {
  if (is_ascending(places)) return places;
  return longest_chain(places);
}

// `own`: the sequence numbers of each log; nothing for a log that has none.
std::vector<SequenceRange> ranges_between(const std::vector<std::optional<SequenceRange>>& own) {
  std::vector<SequenceRange> ranges(own.size());
  uint64_t end_of_earlier = 0, first_of_later = SequenceRange().end;
  for (size_t log = 0; log < own.size(); ++log) {
    ranges[log].first = end_of_earlier;
    if (own[log]) end_of_earlier = own[log]->end;
  }
  for (size_t log = own.size(); log-- > 0;) {
    ranges[log].end = first_of_later;
    if (own[log]) first_of_later = own[log]->first;
  }
  return ranges;
}

}  // namespace

std::optional<SequenceRange> sequences_of(std::string_view record) {
  ByteReader header(record);
  const uint64_t first = header.u64();
  const uint32_t count = header.u32();
  if (header.failed() || first > kMostSequence) return std::nullopt;
  BatchHandler ignore;
  // Iterate() compares the number of entries with the header.
  const bool is_batch = rocksdb::WriteBatch(std::string(record)).Iterate(&ignore).ok();
  return is_batch ? std::optional(SequenceRange{first, first + count}) : std::nullopt;
}

std::vector<SequenceRange> ranges_of(const std::vector<LogSequences>& logs) {
  std::vector<Place> places;
  for (size_t log = 0; log < logs.size(); ++log) append_places(logs[log], log, SequenceRange(), places);
  std::vector<std::optional<SequenceRange>> own(logs.size());
  for (const Place& place : in_order(std::move(places))) {
    if (!own[place.log]) own[place.log] = place.sequences;
    own[place.log]->end = place.sequences.end;
  }
  return ranges_between(own);
}

RecordNumbers misplaced_in(const LogSequences& log, const SequenceRange& range) {
  std::vector<Place> places;
  append_places(log, 0, range, places);
  RecordNumbers misplaced;
  size_t next = 0;
  for (const Place& place : in_order(std::move(places))) {
    for (; next < place.record; ++next) misplaced.insert(misplaced.end(), next);
    next = place.record + 1;
  }
  for (; next < log.size(); ++next) misplaced.insert(misplaced.end(), next);
  return misplaced;
}

RecordNumbers with_repeated(const LogSequences& log, const RecordNumbers& misplaced) {
  std::set<uint64_t> firsts;
  for (const size_t record : misplaced) {
    if (log[record]) firsts.insert(log[record]->first);
  }
  RecordNumbers numbers = misplaced;
  for (size_t record = 0; record < log.size(); ++record) {
    if (log[record] && firsts.contains(log[record]->first)) numbers.insert(record);
  }
  return numbers;
}

}  // namespace fathom::store
