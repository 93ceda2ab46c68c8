#include "store/rocks/sealed.h"

#include <algorithm>

#include "store/block/layout.h"
#include "store/block/shared_table.h"
#include "store/rocks/keys.h"
#include "store/rocks/scan_options.h"

namespace fathom::store {

namespace {

constexpr uint32_t kDirectoryColumn = UINT32_MAX;
constexpr uint32_t kGrownColumn = UINT32_MAX - 1;
constexpr uint8_t kPartVersion = 1;
constexpr uint8_t kTalliedPart = 2;
constexpr size_t kPartsBeforeSkip = 16;

Result<TracePart> decode_trace_part(std::string_view key, std::string_view value) {
  keys::TracePlace place;
  if (!keys::parse_trace(key, place)) return corrupt("a key of the trace index is damaged");
  Result<TracePart> part = decode_trace_part_value(value);
  if (part) {
    part->partition = place.partition;
    part->segment = place.segment;
  }
  return part;
}

}  // namespace

Result<TracePart> decode_trace_part_value(std::string_view value) {
  ByteReader in(value);
  const uint8_t version = in.u8();
  if (version != kPartVersion && version != kTalliedPart) {
    return corrupt("a row of the trace index has an unknown form");
  }
  TracePart part;
  part.first_block = in.varint32();
  Result<TraceSummary> summary = decode_summary(in);
  if (!summary) return summary.error();
  part.summary = *summary;
  if (version == kTalliedPart) {
    PartTallies& tallies = part.tallies.emplace();
    tallies.first_partition = in.varint32();
    tallies.whole = read_tally(in);
    tallies.own = read_tally(in);
    if (in.failed() || tallies.own.empty()) return corrupt("a row of the trace index is damaged");
  }
  return part;
}

TraceRow trace_row(const StoredRow& row) {
  const SpanView& span = row.span;
  return {span.span_id,
          span.parent_span_id,
          corrected_unix_nano(span.start_unix_nano, row.clock),
          span.duration_nano(),
          row.sequence,
          row.operation,
          span.status == StatusCode::kError};
}

TraceRow trace_row(const BlockIds& ids, const BlockTimes& times, size_t row) {
  return {ids.span[row],       ids.parent[row],      times.start_unix_nano[row], times.duration_nano[row],
          times.sequence[row], times.operation[row], times.error[row] != 0};
}

std::string directory_key(uint32_t partition, uint32_t segment) {
  return keys::chunk(partition, segment, kSegmentWide, kDirectoryColumn);
}

std::string grown_key(uint32_t partition, uint32_t segment) {
  return keys::chunk(partition, segment, kSegmentWide, kGrownColumn);
}

std::string encode_trace_part(const TracePart& part) {
  std::string value;
  ByteWriter out(value);
  out.u8(part.tallies ? kTalliedPart : kPartVersion);
  out.varint(part.first_block);
  encode_summary(part.summary, value);
  if (!part.tallies) return value;
  out.varint(part.tallies->first_partition);
  write_tally(part.tallies->whole, value);
  write_tally(part.tallies->own, value);
  return value;
}

template <typename Part>
typename SegmentCache<Part>::PartPtr SegmentCache<Part>::find(uint32_t segment, uint32_t number) {
  std::lock_guard lock(mutex_);
  auto found = index_.find(Key{segment} << 32 | number);
  if (found == index_.end()) return nullptr;
  recent_.splice(recent_.begin(), recent_, found->second);
  return found->second->second;
}

template <typename Part>
void SegmentCache<Part>::insert(uint32_t segment, uint32_t number, PartPtr part) {
  Key key = Key{segment} << 32 | number;
  std::lock_guard lock(mutex_);
  if (index_.contains(key)) return;
  bytes_ += part->memory_bytes();
  recent_.emplace_front(key, std::move(part));
  index_[key] = recent_.begin();
  while (bytes_ > limit_ && recent_.size() > 1) {
    bytes_ -= recent_.back().second->memory_bytes();
    index_.erase(recent_.back().first);
    recent_.pop_back();
  }
}

template class SegmentCache<SegmentDirectory>;
template class SegmentCache<block::SharedPage>;

// Reads one segment's chunks at the reader's snapshot and charges the query's budget.
class SealedReader::Source : public ChunkSource {
 public:
  Source(SealedReader& reader, uint32_t partition, uint32_t segment)
      : reader_(reader), partition_(partition), segment_(segment) {}

  Result<ChunkBytes> read(uint32_t block, uint32_t column) override {
    Result<ChunkBytes> chunk = read_key(keys::chunk(partition_, segment_, block, column));
    if (!chunk) return chunk;
    if (Result<> spent = reader_.budget_.spend(chunk->bytes.size()); !spent) return spent.error();
    return chunk;
  }
  SharedPagePtr known_page(uint32_t page) override { return reader_.context_.shared_pages.find(segment_, page); }
  void keep_page(uint32_t page, const SharedPagePtr& decoded) override {
    reader_.context_.shared_pages.insert(segment_, page, decoded);
  }
  HeldMemory hold() override { return reader_.budget_.hold(); }
  Result<ChunkBytes> read_grown() { return read_key(grown_key(partition_, segment_)); }
  Result<ChunkBytes> read_directory() { return read_key(directory_key(partition_, segment_)); }

 private:
  Result<ChunkBytes> read_key(const std::string& key) {
    auto value = std::make_shared<rocksdb::PinnableSlice>();
    Database& database = reader_.context_.database;
    rocksdb::Status status =
        database.db().Get(reader_.read_options(), database.family(Family::kBlock), key, value.get());
    if (status.IsNotFound() && !reader_.context_.live.is_live(partition_)) {
      return not_found("the partition was dropped by retention");
    }
    if (status.IsNotFound()) return corrupt("segment " + std::to_string(segment_) + " lacks a chunk");
    if (!status.ok()) return from_status(status, "read segment " + std::to_string(segment_));
    return ChunkBytes{value->ToStringView(), value};
  }

  SealedReader& reader_;
  uint32_t partition_;
  uint32_t segment_;
};

struct SealedReader::Open {
  Open(SealedReader& reader, uint32_t partition, uint32_t segment) : source(reader, partition, segment) {}
  Source source;
  std::unique_ptr<SegmentReader> reader;
};

SealedReader::SealedReader(const SealedContext& context, ViewPtr view, QueryBudget& budget)
    : context_(context), view_(std::move(view)), budget_(budget) {}

SealedReader::~SealedReader() = default;

rocksdb::ReadOptions SealedReader::read_options() const {
  rocksdb::ReadOptions options = scan_options();
  options.snapshot = view_->snapshot.get();
  return options;
}

rocksdb::Iterator& SealedReader::trace_index() {
  if (!trace_index_) {
    rocksdb::ReadOptions options = read_options();
    options.prefix_same_as_start = true;
    trace_index_.reset(context_.database.db().NewIterator(options, context_.database.family(Family::kTrace)));
  }
  return *trace_index_;
}

// The part at the iterator. Servers before version 7 did not mark oversized traces.
Result<TracePart> SealedReader::part_here() {
  Result<TracePart> part = decode_trace_part(trace_index_->key().ToStringView(), trace_index_->value().ToStringView());
  if (part) part->summary.oversized |= part->summary.spans > context_.limits.spans;
  return part;
}

Result<std::vector<TracePart>> SealedReader::parts(const TraceId& id) {
  rocksdb::Iterator& rows = trace_index();
  std::vector<TracePart> parts;
  std::string prefix = keys::trace_prefix(id);
  for (rows.Seek(prefix); rows.Valid() && rows.key().ToStringView().starts_with(prefix); rows.Next()) {
    Result<TracePart> part = part_here();
    if (!part) return part.error();
    if (context_.live.is_live(part->partition)) parts.push_back(std::move(*part));
  }
  if (!rows.status().ok()) return from_status(rows.status(), "read the trace index");
  return parts;
}

Result<> SealedReader::visit_parts(const TraceId& id, const VisitPart& visit) {
  rocksdb::Iterator& rows = trace_index();
  std::string prefix = keys::trace_prefix(id);
  for (rows.SeekForPrev(keys::trace(id, UINT32_MAX, UINT32_MAX)); rows.Valid(); rows.Prev()) {
    if (!rows.key().ToStringView().starts_with(prefix)) break;
    if (Result<> paid = budget_.spend(rows.value().size()); !paid) return paid;
    Result<TracePart> part = part_here();
    if (!part) return part.error();
    if (!context_.live.is_live(part->partition)) break;  // older ones are not either
    Result<bool> more = visit(*part);
    if (!more) return more.error();
    if (!*more) return {};
  }
  return rows.status().ok() ? Result<>() : Result<>(from_status(rows.status(), "read the trace index"));
}

Result<std::optional<TracePart>> SealedReader::newest_part(const TraceId& id) {
  std::optional<TracePart> newest;
  Result<> visited = visit_parts(id, [&](const TracePart& part) -> Result<bool> {
    newest = part;
    return false;
  });
  if (!visited) return visited.error();
  return newest;
}

Result<std::optional<TracePart>> SealedReader::part_from(const TraceId& id, uint32_t partition, uint32_t segment) {
  rocksdb::Iterator& rows = trace_index();
  std::string prefix = keys::trace_prefix(id);
  rows.Seek(keys::trace(id, std::max(partition, context_.live.oldest()), segment));
  if (!rows.status().ok()) return from_status(rows.status(), "read the trace index");
  if (!rows.Valid() || !rows.key().ToStringView().starts_with(prefix)) return std::optional<TracePart>();
  if (Result<> paid = budget_.spend(rows.value().size()); !paid) return paid.error();
  Result<TracePart> part = part_here();
  if (!part) return part.error();
  return std::optional(std::move(*part));
}

Result<std::vector<TraceId>> SealedReader::trace_ids(const TraceIdRange& range, size_t most) {
  rocksdb::ReadOptions options = read_options();
  options.total_order_seek = true;  // the index is cut by whole ids
  std::unique_ptr<rocksdb::Iterator> rows(
      context_.database.db().NewIterator(options, context_.database.family(Family::kTrace)));
  std::vector<TraceId> ids;
  size_t repeated = 0;
  for (rows->Seek(keys::trace_prefix(range.first)); rows->Valid() && ids.size() < most; rows->Next()) {
    const std::string_view key = rows->key().ToStringView();
    keys::TracePlace place{};
    const std::optional<TraceId> id = keys::trace_id(key);
    if (!id || !keys::parse_trace(key, place) || *id > range.last || !key.starts_with(keys::tenant_prefix())) break;
    if (Result<> paid = budget_.spend(key.size()); !paid) return paid.error();
    const bool met = !ids.empty() && ids.back() == *id;
    if (!met && context_.live.is_live(place.partition)) ids.push_back(*id);
    repeated = met ? repeated + 1 : 0;
    // An oversized trace may have a part in every segment: go to its last one.
    if (repeated == kPartsBeforeSkip) rows->SeekForPrev(keys::trace(*id, UINT32_MAX, UINT32_MAX));
    if (!rows->Valid()) break;
  }
  if (!rows->status().ok()) return from_status(rows->status(), "read the trace index");
  return ids;
}

Result<SegmentDirectoryPtr> SealedReader::directory(uint32_t partition, uint32_t segment) {
  SegmentDirectoryPtr known = context_.directories.find(segment);
  if (!known) {
    Source source(*this, partition, segment);
    Result<ChunkBytes> bytes = source.read_directory();
    if (!bytes) return bytes.error();
    HeldMemory memory = budget_.hold();
    Result<SegmentDirectoryPtr> opened = SegmentDirectory::open(bytes->bytes, &memory);
    if (!opened) return opened;
    known = *opened;
    context_.directories.insert(segment, 0, known);
  }
  // It costs a query the same whether or not it had to be read.
  if (Result<> spent = budget_.spend(known->memory_bytes()); !spent) return spent.error();
  return known;
}

Result<SegmentReader*> SealedReader::segment(uint32_t partition, uint32_t segment) {
  auto found = open_.find(segment);
  if (found != open_.end()) return found->second->reader.get();
  Result<SegmentDirectoryPtr> known = directory(partition, segment);
  if (!known) return known.error();
  auto open = std::make_unique<Open>(*this, partition, segment);
  open->reader = std::make_unique<SegmentReader>(*known, open->source);
  return open_.emplace(segment, std::move(open)).first->second->reader.get();
}

// All rows of such a segment were repetitions. It has only latencies, and never had blocks.
Result<> SealedReader::check_has_spans(const SegmentInfo& info) {
  return info.rows > 0 ? Result<>() : Result<>(not_found("segment " + std::to_string(info.id) + " has no spans"));
}

Result<SegmentReader*> SealedReader::segment(const SegmentInfo& info) {
  Result<> checked = check_has_spans(info);
  return checked ? segment(info.partition, info.id) : checked.error();
}

Result<GrownTraces> SealedReader::grown(const SegmentInfo& info) {
  if (Result<> checked = check_has_spans(info); !checked) return checked.error();
  Source source(*this, info.partition, info.id);
  Result<ChunkBytes> bytes = source.read_grown();
  if (!bytes) return bytes.error();
  if (Result<> spent = budget_.spend(bytes->bytes.size()); !spent) return spent.error();
  return GrownTraces::decode(bytes->bytes);
}

void SealedReader::close(uint32_t segment) {
  open_.erase(segment);
}

Result<LocatedPart> SealedReader::locate(const TraceId& id, const TracePart& part) {
  Result<SegmentReader*> reader = segment(part.partition, part.segment);
  if (!reader) return reader.error();
  Result<std::vector<RowRange>> ranges = (*reader)->locate(id, part.first_block);
  if (!ranges) return ranges.error();
  return LocatedPart{*reader, std::move(*ranges)};
}

Result<std::vector<TraceRow>> SealedReader::rows(const TraceId& id, const TracePart& part) {
  Result<LocatedPart> located = locate(id, part);
  if (!located) return located.error();
  std::vector<TraceRow> rows;
  for (const RowRange& range : located->ranges) {
    Result<BlockIds> ids = located->reader->ids(range.block);
    if (!ids) return ids.error();
    Result<BlockTimes> times = located->reader->times(range.block);
    if (!times) return times.error();
    // Callers keep what this returns for as long as they like.
    // A vector that grows takes twice what it holds.
    if (Result<> spent = budget_.spend(2 * range.row_count * sizeof(TraceRow)); !spent) return spent.error();
    size_t end = size_t{range.first_row} + range.row_count;
    if (ids->span.size() < end || times->start_unix_nano.size() < end) return corrupt("a block's columns disagree");
    for (uint32_t i = range.first_row; i < range.first_row + range.row_count; ++i) {
      rows.push_back(trace_row(*ids, *times, i));
    }
  }
  return rows;
}

}  // namespace fathom::store
