#include "store/verify/repaired_segment.h"

#include <limits>
#include <utility>

namespace fathom::store {

namespace {

// Stored rows are within the limits that were in force when they came.
BatchLimits no_limits() {
  constexpr uint32_t kMost = std::numeric_limits<uint32_t>::max();
  return {.attributes_per_span = kMost,
          .bytes_per_value = kMost,
          .bytes_per_name = kMost,
          .events_per_span = kMost,
          .links_per_span = kMost,
          .spans_per_batch = kMost,
          .bytes_per_batch = kMost};
}

// What a row shares with others, by where it lies; the same only while the block is in memory.
struct SharedPlace {
  const void* attributes = nullptr;
  const void* name = nullptr;
  const void* schema_url = nullptr;
  bool operator==(const SharedPlace&) const = default;
};

SharedPlace place_of(const ResourceView& resource) {
  return {resource.attributes.data(), nullptr, resource.schema_url.data()};
}

SharedPlace place_of(const ScopeView& scope) {
  return {scope.attributes.data(), scope.name.data(), scope.schema_url.data()};
}

}  // namespace

// A batch of the old store, or the rest of one.
struct RepairedSegment::Part {
  explicit Part(const std::optional<ClockOffset>& clock) : builder(no_limits(), clock) {}

  void add(const StoredRow& row, uint32_t block, uint32_t operation) {
    const bool same_block = block_ == block;
    if (!same_block || resource_ != place_of(row.resource)) builder.set_resource(row.resource);
    if (!same_block || scope_ != place_of(row.scope)) builder.set_scope(row.scope);
    block_ = block;
    resource_ = place_of(row.resource);
    scope_ = place_of(row.scope);
    builder.add(row.span);
    operations.push_back(operation);
  }

  BatchBuilder builder;
  std::vector<uint32_t> operations;

 private:
  std::optional<uint32_t> block_;
  SharedPlace resource_;
  SharedPlace scope_;
};

RepairedSegment::RepairedSegment(const SegmentInfo& info, OperationOf operation_of, KeepsTrace keeps_trace)
    : info_(info), operation_of_(std::move(operation_of)), keeps_trace_(std::move(keeps_trace)) {}

RepairedSegment::~RepairedSegment() = default;

void RepairedSegment::read(SealedReader& reader) {
  Result<SegmentReader*> segment = reader.segment(info_);
  if (!segment) {
    lost_.push_back({std::nullopt, segment.error().message, info_.rows, info_.traces,
                     TimeRange{info_.min_start_unix_nano, end_of(info_.max_start_unix_nano, 1)},
                     info_.last_sequence - info_.first_sequence + 1});
    return;
  }
  const SegmentDirectory& directory = (*segment)->directory();
  for (uint32_t block = 0; block < directory.block_count(); ++block) {
    Result<StoredRows> rows = (*segment)->rows(block, 0, directory.zone(block).rows);
    if (!rows) {
      lose(block, directory.zone(block), rows.error().message);
      continue;
    }
    for (const StoredRow& row : rows->rows) add(row, block);
  }
  reader.close(info_.id);
}

void RepairedSegment::lose(uint32_t block, const BlockZone& zone, const std::string& reason) {
  lost_.push_back({block, reason, zone.rows, zone.traces,
                   TimeRange{zone.min_start_unix_nano, end_of(zone.max_start_unix_nano, 1)},
                   zone.max_sequence - zone.min_sequence + 1});
}

void RepairedSegment::add(const StoredRow& row, uint32_t block) {
  if (keeps_trace_ && !keeps_trace_(row.span.trace_id)) {
    ++left_out_;
    return;
  }
  const ClockOffset clock = row.clock.value_or(ClockOffset());
  std::unique_ptr<Part>& part = parts_[{row.sequence, row.clock.has_value(), clock.offset_nano, clock.error_nano}];
  if (!part) part = std::make_unique<Part>(row.clock);
  part->add(row, block, operation_of_(row));
  ++rows_;
}

std::unique_ptr<Generation> RepairedSegment::take(const FindOlderTrace& find_older) {
  auto generation = std::make_unique<Generation>(info_.partition, rows_);
  for (auto& [key, part] : parts_) {
    BatchPtr batch = part->builder.finish();
    OlderTraces older;
    generation->look_up_new_traces(*batch, find_older, older);
    generation->insert(std::move(batch), std::get<0>(key), info_.first_received_unix_nano, part->operations, older);
    part.reset();
  }
  parts_.clear();
  generation->freeze();
  return generation;
}

}  // namespace fathom::store
