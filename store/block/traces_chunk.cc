#include <algorithm>

#include "store/block/row_chunks.h"

namespace fathom::store::block {

namespace {

// An operation is an index into the block's, or, when none of its rows has it, that many more than the id.
uint64_t operation_code(const BlockRows& rows, uint32_t operation) {
  auto at = std::lower_bound(rows.operations.begin(), rows.operations.end(), operation);
  if (at != rows.operations.end() && *at == operation) return static_cast<uint64_t>(at - rows.operations.begin());
  return rows.operations.size() + uint64_t{operation};
}

struct TraceArrays {
  std::vector<uint64_t> id_steps, flags, starts, root_durations, rest_durations, operations, sequences, spans;
  std::vector<uint32_t> row_counts, root_rows;
  std::string id_tails, root_ids;

  void add(const BlockRows& rows, const TracePiece& piece, uint64_t previous_head) {
    const TraceSummary& summary = piece.trace->summary;
    id_steps.push_back(load_be64(piece.trace->id.view().data()) - previous_head);
    id_tails.append(piece.trace->id.view().substr(8));
    row_counts.push_back(piece.row_count);
    flags.push_back(summary_flags(summary));
    starts.push_back(summary.start_unix_nano);
    root_durations.push_back(summary.root_duration_nano);
    rest_durations.push_back(zigzag(static_cast<int64_t>(summary.duration_nano - summary.root_duration_nano)));
    root_ids.append(summary.root_span_id.view());
    operations.push_back(operation_code(rows, summary.root_operation));
    sequences.push_back(summary.first_sequence);
    spans.push_back(zigzag(static_cast<int64_t>(summary.spans - piece.row_count)));
    root_rows.push_back(root_row_of(rows, piece) + 1);
  }
};

SpanId span_id_at(std::string_view bytes, size_t index) {
  return *SpanId::from_bytes(bytes.substr(8 * index, 8));
}

bool read_plane(ChunkReader& in, size_t size, std::string& buffer, std::string_view& out) {
  Stream stream;
  return read_stream(in, size, stream) && unpack(in, stream, buffer, out);
}

struct TraceColumns {
  std::vector<uint64_t> id_steps, starts, root_durations, rest_durations, operations, sequences, spans;
  std::vector<uint32_t> row_counts, root_rows;
  std::vector<uint8_t> flags;
  std::string tail_buffer, root_buffer;
  std::string_view id_tails, root_ids;

  bool read(ChunkReader& in, size_t n) {
    return read_ints(in, n, id_steps) && read_plane(in, 8 * n, tail_buffer, id_tails) && read_ints(in, n, row_counts) &&
           read_ints(in, n, flags) && read_ints(in, n, starts) && read_ints(in, n, root_durations) &&
           read_ints(in, n, rest_durations) && read_plane(in, 8 * n, root_buffer, root_ids) &&
           read_ints(in, n, operations) && read_ints(in, n, sequences) && read_ints(in, n, spans) &&
           read_ints(in, n, root_rows);
  }

  bool summary(size_t i, const BlockZone& zone, TraceSummary& out) const {
    set_summary_flags(out, flags[i]);
    out.start_unix_nano = starts[i];
    out.root_duration_nano = root_durations[i];
    out.duration_nano = root_durations[i] + static_cast<uint64_t>(unzigzag(rest_durations[i]));
    out.root_span_id = span_id_at(root_ids, i);
    out.spans = row_counts[i] + static_cast<uint64_t>(unzigzag(spans[i]));
    out.first_sequence = sequences[i];
    uint64_t code = operations[i];
    uint64_t id = code < zone.operations.size() ? zone.operations[code] : code - zone.operations.size();
    out.root_operation = static_cast<uint32_t>(id);
    return id <= UINT32_MAX;
  }
};

TraceId join_id(uint64_t head, std::string_view tail) {
  TraceId id;
  head = __builtin_bswap64(head);
  std::memcpy(id.bytes.data(), &head, 8);
  std::memcpy(id.bytes.data() + 8, tail.data(), 8);
  return id;
}

}  // namespace

std::string encode_traces(const BlockRows& rows, Packer& packer) {
  TraceArrays arrays;
  uint64_t head = 0;
  for (const TracePiece& piece : rows.traces) {
    arrays.add(rows, piece, head);
    head = load_be64(piece.trace->id.view().data());
  }
  // The first step is a whole id: written apart, or every plane would be wide.
  std::string body;
  ByteWriter(body).u64(arrays.id_steps[0]);
  arrays.id_steps[0] = 0;
  auto ints = [&](const auto& values) { packer.ints(body, std::span(values)); };
  ints(arrays.id_steps);
  packer.plane(body, arrays.id_tails);
  ints(arrays.row_counts);
  ints(arrays.flags);
  ints(arrays.starts);
  ints(arrays.root_durations);
  ints(arrays.rest_durations);
  packer.plane(body, arrays.root_ids);
  ints(arrays.operations);
  ints(arrays.sequences);
  ints(arrays.spans);
  ints(arrays.root_rows);
  return body;
}

bool decode_traces(const ChunkBody& body, const BlockZone& zone, DecodedTraces& out) {
  ChunkReader in(body);
  uint64_t head = in.u64();
  TraceColumns columns;
  if (!columns.read(in, zone.traces) || !in.at_end()) return false;
  if (!in.take(zone.traces * (sizeof(BlockTrace) + sizeof(uint32_t)))) return false;
  uint64_t row = 0;
  out.traces.reserve(zone.traces);
  out.root_row.reserve(zone.traces);
  for (uint32_t i = 0; i < zone.traces; ++i) {
    head += columns.id_steps[i];
    uint32_t count = columns.row_counts[i];
    BlockTrace trace{join_id(head, columns.id_tails.substr(8 * i, 8)), static_cast<uint32_t>(row), count, {}};
    row += count;
    // One more than the row within the piece, so that 0 is kNone.
    if (count == 0 || row > zone.rows || columns.root_rows[i] > count) return false;
    if (!columns.summary(i, zone, trace.summary)) return false;
    out.traces.push_back(trace);
    out.root_row.push_back(columns.root_rows[i] - 1);
  }
  return row == zone.rows;
}

}  // namespace fathom::store::block
