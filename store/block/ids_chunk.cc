#include <unordered_map>

#include "store/block/process_seed.h"
#include "store/block/row_chunks.h"

namespace fathom::store::block {

namespace {

// A parent is written as 0 (none), 1 (its id follows among the strays) or 2 + the row within the piece that has its id.
constexpr uint32_t kNoParent = 0, kStray = 1, kFirstRow = 2;
// In small traces a scan is quicker than a table.
constexpr uint32_t kScanRows = 16;

struct SeededIdHash {
  size_t operator()(const SpanId& id) const {
    uint64_t word;
    std::memcpy(&word, id.bytes.data(), 8);
    word = (word ^ process_seed()) * 0xff51afd7ed558ccdULL;
    return (word ^ word >> 32) * 0xc4ceb9fe1a85ec53ULL >> 17;
  }
};

// Finds the first row of a piece with an id.
class PieceIds {
 public:
  explicit PieceIds(std::span<const SegmentRow> rows) : rows_(rows) {
    if (rows.size() <= kScanRows) return;
    for (uint32_t i = 0; i < rows.size(); ++i) table_.try_emplace(rows[i].row->span_id, i);
  }
  uint32_t find(const SpanId& id) const {
    if (!table_.empty()) {
      auto at = table_.find(id);
      return at == table_.end() ? kNone : at->second;
    }
    for (uint32_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].row->span_id == id) return i;
    }
    return kNone;
  }

 private:
  std::span<const SegmentRow> rows_;
  std::unordered_map<SpanId, uint32_t, SeededIdHash> table_;
};

struct IdArrays {
  std::string spans, strays;
  std::vector<uint32_t> parents;

  void add_parent(const SpanId& parent, const PieceIds& ids) {
    if (parent.is_zero()) return parents.push_back(kNoParent);
    uint32_t row = ids.find(parent);
    if (row != kNone) return parents.push_back(kFirstRow + row);
    parents.push_back(kStray);
    strays.append(parent.view());
  }
};

bool read_ids(ChunkReader& in, std::vector<SpanId>& out) {
  Stream stream;
  std::string buffer;
  std::string_view bytes;
  if (!read_blob(in, stream) || stream.size % 8 != 0 || !unpack(in, stream, buffer, bytes)) return false;
  if (!in.take(bytes.size())) return false;
  out.resize(bytes.size() / 8);
  if (!bytes.empty()) std::memcpy(static_cast<void*>(out.data()), bytes.data(), bytes.size());
  return true;
}

// Gives each row an id of `stored`, but for root rows, whose summary has it.
bool place_spans(const DecodedTraces& traces, const std::vector<SpanId>& stored, std::vector<SpanId>& out) {
  size_t next = 0;
  for (size_t t = 0; t < traces.traces.size(); ++t) {
    const BlockTrace& trace = traces.traces[t];
    for (uint32_t i = 0; i < trace.row_count; ++i) {
      bool is_root = i == traces.root_row[t];
      if (!is_root && next == stored.size()) return false;
      out.push_back(is_root ? trace.summary.root_span_id : stored[next++]);
    }
  }
  return next == stored.size();
}

bool place_parents(const DecodedTraces& traces, const std::vector<uint32_t>& codes, const std::vector<SpanId>& strays,
                   BlockIds& out) {
  size_t next = 0;
  for (const BlockTrace& trace : traces.traces) {
    for (uint32_t row = trace.first_row; row < trace.first_row + trace.row_count; ++row) {
      uint32_t code = codes[row];
      if (code >= kFirstRow + trace.row_count || (code == kStray && next == strays.size())) return false;
      SpanId parent;
      if (code == kStray) parent = strays[next++];
      if (code >= kFirstRow) parent = out.span[trace.first_row + code - kFirstRow];
      out.parent.push_back(parent);
    }
  }
  return next == strays.size();
}

}  // namespace

std::string encode_ids(const BlockRows& rows, Packer& packer) {
  IdArrays arrays;
  for (const TracePiece& piece : rows.traces) {
    std::span<const SegmentRow> part = rows.rows.subspan(piece.first_row, piece.row_count);
    uint32_t root = root_row_of(rows, piece);
    PieceIds ids(part);
    for (uint32_t i = 0; i < part.size(); ++i) {
      if (i != root) arrays.spans.append(part[i].row->span_id.view());
      arrays.add_parent(part[i].row->parent_span_id, ids);
    }
  }
  std::string body;
  packer.random_blob(body, arrays.spans);
  packer.ints(body, std::span<const uint32_t>(arrays.parents));
  packer.random_blob(body, arrays.strays);
  return body;
}

bool decode_ids(const ChunkBody& body, const BlockZone& zone, const DecodedTraces& traces, BlockIds& out) {
  ChunkReader in(body);
  std::vector<SpanId> spans, strays;
  std::vector<uint32_t> parents;
  const size_t n = zone.rows;
  bool read = in.take_array<SpanId>(2 * n) && read_ids(in, spans) && read_ints(in, n, parents) &&
              read_ids(in, strays) && in.at_end();
  if (!read) return false;
  out.span.reserve(n);
  out.parent.reserve(n);
  return place_spans(traces, spans, out.span) && place_parents(traces, parents, strays, out);
}

}  // namespace fathom::store::block
