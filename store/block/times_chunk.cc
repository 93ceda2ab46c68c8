#include <algorithm>
#include <map>

#include "store/block/row_chunks.h"

namespace fathom::store::block {

namespace {

// Calls `each(row, trace index, is root row)` for every row, in order.
template <typename Each>
void walk_rows(const DecodedTraces& traces, Each each) {
  for (uint32_t t = 0; t < traces.traces.size(); ++t) {
    const BlockTrace& trace = traces.traces[t];
    for (uint32_t i = 0; i < trace.row_count; ++i) each(trace.first_row + i, t, i == traces.root_row[t]);
  }
}

// What sent + offset gives back; a clock that reaches beyond 64 bits loses what was sent.
uint64_t sent_from_corrected(uint64_t corrected, const std::optional<ClockOffset>& clock) {
  return clock ? corrected - static_cast<uint64_t>(clock->offset_nano) : corrected;
}

struct ClockTable {
  std::vector<std::optional<ClockOffset>> clocks;
  std::map<std::pair<int64_t, uint64_t>, uint32_t> numbers;
  uint32_t none = kNone;

  uint32_t add(const std::optional<ClockOffset>& clock) {
    uint32_t next = static_cast<uint32_t>(clocks.size());
    uint32_t& number = clock ? numbers.try_emplace({clock->offset_nano, clock->error_nano}, kNone).first->second : none;
    if (number == kNone) {
      number = next;
      clocks.push_back(clock);
    }
    return number;
  }
};

void write_clocks(ByteWriter& out, const std::vector<std::optional<ClockOffset>>& clocks) {
  out.varint(clocks.size());
  for (const auto& clock : clocks) {
    out.u8(clock.has_value());
    if (!clock) continue;
    out.svarint(clock->offset_nano);
    out.varint(clock->error_nano);
  }
}

bool read_clocks(ChunkReader& in, std::vector<std::optional<ClockOffset>>& out) {
  uint32_t count = read_entries(in, kMaxBlockRows);
  if (in.failed() || !in.take_array<std::optional<ClockOffset>>(count)) return false;
  out.reserve(count);
  for (uint32_t i = 0; i < count && !in.failed(); ++i) {
    if (in.u8() == 0) {
      out.push_back(std::nullopt);
      continue;
    }
    int64_t offset = in.svarint();
    out.push_back(ClockOffset{offset, in.varint()});
  }
  return !in.failed();
}

struct TimeArrays {
  std::vector<uint64_t> starts, lengths, sequences;
  std::vector<uint32_t> statuses, conflicts, clock_codes;
  std::vector<uint64_t> odd_rows, odd_sent;  // whose sent time does not follow from the corrected one
  ClockTable clocks;

  void add(const SegmentRow& row, uint32_t index, const TraceSummary& summary, bool is_root) {
    uint64_t sent = row.row->start_unix_nano;
    uint64_t corrected = corrected_unix_nano(sent, row.batch->clock());
    starts.push_back(corrected - summary.start_unix_nano);
    lengths.push_back(is_root && summary.has_root ? 0 : row.row->end_unix_nano - sent);
    sequences.push_back(row.sequence - summary.first_sequence);
    statuses.push_back(static_cast<uint32_t>(row.row->status));
    conflicts.push_back(row.conflicting);
    clock_codes.push_back(clocks.add(row.batch->clock()));
    if (sent_from_corrected(corrected, row.batch->clock()) == sent) return;
    odd_rows.push_back(index);
    odd_sent.push_back(sent);
  }
};

bool read_odd_starts(ChunkReader& in, DecodedTimes& out) {
  uint32_t count = read_entries(in, static_cast<uint32_t>(out.sent_unix_nano.size()));
  std::vector<uint32_t> rows;
  std::vector<uint64_t> sent;
  if (!read_ints(in, count, rows) || !read_ints(in, count, sent)) return false;
  for (uint32_t i = 0; i < count; ++i) {
    if (rows[i] >= out.sent_unix_nano.size()) return false;
    out.sent_unix_nano[rows[i]] = sent[i];
  }
  return true;
}

template <typename T>
bool all_at_most(const std::vector<T>& values, uint64_t most) {
  return std::all_of(values.begin(), values.end(), [most](T value) { return value <= most; });
}

bool times_hold(const DecodedTimes& times) {
  return all_at_most(times.status, static_cast<uint64_t>(StatusCode::kError)) && all_at_most(times.conflicting, 1) &&
         !times.clocks.empty() && all_at_most(times.clock, times.clocks.size() - 1);
}

}  // namespace

std::string encode_times(const BlockRows& rows, Packer& packer) {
  TimeArrays arrays;
  for (const TracePiece& piece : rows.traces) {
    uint32_t root = root_row_of(rows, piece);
    for (uint32_t i = 0; i < piece.row_count; ++i) {
      uint32_t row = piece.first_row + i;
      arrays.add(rows.rows[row], row, piece.trace->summary, i == root);
    }
  }
  std::string body;
  ByteWriter writer(body);
  auto ints = [&](const auto& values) { packer.ints(body, std::span(values)); };
  ints(rows.operation_index);
  ints(arrays.starts);
  ints(arrays.lengths);
  ints(arrays.sequences);
  ints(arrays.statuses);
  ints(arrays.conflicts);
  write_clocks(writer, arrays.clocks.clocks);
  ints(arrays.clock_codes);
  writer.varint(arrays.odd_rows.size());
  ints(arrays.odd_rows);
  ints(arrays.odd_sent);
  return body;
}

bool decode_operations(const ChunkBody& body, const BlockZone& zone, std::vector<uint32_t>& operation_index) {
  ChunkReader in(body);
  return read_ints(in, zone.rows, operation_index) && !zone.operations.empty() &&
         all_at_most(operation_index, zone.operations.size() - 1);
}

bool decode_times(const ChunkBody& body, const BlockZone& zone, const DecodedTraces& traces, DecodedTimes& out) {
  if (!decode_operations(body, zone, out.operation_index)) return false;
  ChunkReader in(body);
  size_t n = zone.rows;
  bool read = skip_ints(in, n) && read_ints(in, n, out.start_unix_nano) && read_ints(in, n, out.length_nano) &&
              read_ints(in, n, out.sequence) && read_ints(in, n, out.status) && read_ints(in, n, out.conflicting) &&
              read_clocks(in, out.clocks) && read_ints(in, n, out.clock);
  if (!read || !times_hold(out) || !in.take_array<uint64_t>(n)) return false;
  out.sent_unix_nano.resize(n);
  walk_rows(traces, [&](uint32_t row, uint32_t t, bool is_root) {
    const TraceSummary& summary = traces.traces[t].summary;
    out.start_unix_nano[row] += summary.start_unix_nano;
    out.sequence[row] += summary.first_sequence;
    if (is_root && summary.has_root) out.length_nano[row] = summary.root_duration_nano;
    out.sent_unix_nano[row] = sent_from_corrected(out.start_unix_nano[row], out.clocks[out.clock[row]]);
  });
  return read_odd_starts(in, out) && in.at_end();
}

}  // namespace fathom::store::block
