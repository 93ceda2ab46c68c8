#include "store/rocks/view.h"

#include <algorithm>

#include "base/bytes.h"
#include "store/rocks/keys.h"

namespace fathom::store {

namespace {
constexpr uint8_t kSegmentVersion = 1;
}

std::string SegmentInfo::encode() const {
  std::string value;
  ByteWriter out(value);
  out.u8(kSegmentVersion);
  out.varint(first_sequence);
  out.varint(last_sequence - first_sequence);
  out.varint(first_received_unix_nano);
  out.varint(last_received_unix_nano);
  out.varint(rows);
  out.varint(traces);
  out.varint(bytes);
  out.varint(min_start_unix_nano);
  out.varint(max_start_unix_nano);
  out.varint(max_span_duration_nano);
  out.varint(max_trace_duration_nano);
  return value;
}

Result<SegmentInfo> SegmentInfo::decode(std::string_view key, std::string_view value) {
  ByteReader in(value);
  SegmentInfo info;
  if (key.size() != 12 || in.u8() != kSegmentVersion) return corrupt("a segment's record has an unknown form");
  info.partition = load_be32(key.data() + 4);
  info.id = load_be32(key.data() + 8);
  info.first_sequence = in.varint();
  info.last_sequence = info.first_sequence + in.varint();
  info.first_received_unix_nano = in.varint();
  info.last_received_unix_nano = in.varint();
  info.rows = in.varint();
  info.traces = in.varint();
  info.bytes = in.varint();
  info.min_start_unix_nano = in.varint();
  info.max_start_unix_nano = in.varint();
  info.max_span_duration_nano = in.varint();
  info.max_trace_duration_nano = in.varint();
  if (in.failed() || !in.at_end()) return corrupt("the record of segment " + std::to_string(info.id) + " is damaged");
  return info;
}

SegmentInfoPtr View::segment(uint32_t id) const {
  auto found = std::lower_bound(segments.begin(), segments.end(), id,
                                [](const SegmentInfoPtr& segment, uint32_t wanted) { return segment->id < wanted; });
  return found != segments.end() && (*found)->id == id ? *found : nullptr;
}

std::vector<uint32_t> View::partitions(const TimeRange& range) const {
  std::vector<uint32_t> found;
  for (const SegmentInfoPtr& segment : segments) {
    if (!found.empty() && found.back() == segment->partition) continue;
    if (segment->touches(range)) found.push_back(segment->partition);
  }
  return found;
}

std::vector<uint32_t> View::partitions() const {
  return partitions(TimeRange{0, UINT64_MAX});
}

std::shared_ptr<const rocksdb::Snapshot> take_snapshot(rocksdb::DB& db) {
  return {db.GetSnapshot(), [&db](const rocksdb::Snapshot* snapshot) { db.ReleaseSnapshot(snapshot); }};
}

void ViewHolder::update(const std::function<void(View&)>& change) {
  std::lock_guard updating(updating_);
  auto next = std::make_shared<View>(*get());
  change(*next);
  std::lock_guard lock(mutex_);
  view_ = std::move(next);
}

}  // namespace fathom::store
