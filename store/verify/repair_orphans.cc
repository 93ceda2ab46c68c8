// add_orphans(): segments whose records are lost.
#include <algorithm>
#include <iterator>

#include "store/rocks/keys.h"
#include "store/rocks/scan_options.h"
#include "store/verify/repair_copy.h"

namespace fathom::store {

namespace {

class Orphans {
 public:
  explicit Orphans(const RepairCopy& repair) : repair_(repair) {}

  void add(View& view) {
    rocksdb::ReadOptions options = scan_options();
    options.total_order_seek = true;
    Database& database = repair_.source.database();
    std::unique_ptr<rocksdb::Iterator> blocks(database.db().NewIterator(options, database.family(Family::kBlock)));
    std::vector<SegmentInfoPtr> orphans;
    for (blocks->Seek(keys::partition(repair_.source.live().oldest())); blocks->Valid();) {
      const std::string prefix = blocks->key().ToString().substr(0, keys::segment(0, 0).size());
      const uint32_t id = keys::last_be32(prefix);
      if (!view.segment(id)) {
        if (auto orphan = find_orphan(view, keys::partition_of(prefix), id)) orphans.push_back(orphan);
      }
      blocks->Seek(prefix + std::string(32, '\xff'));
    }
    for (const SegmentInfoPtr& orphan : orphans) view.segments.push_back(orphan);
    std::ranges::sort(view.segments, {}, [](const SegmentInfoPtr& segment) { return segment->id; });
  }

 private:
  SegmentInfoPtr find_orphan(const View& view, uint32_t partition, uint32_t id) {
    std::string bytes;
    Database& database = repair_.source.database();
    const rocksdb::Status status = database.db().Get(rocksdb::ReadOptions(), database.family(Family::kBlock),
                                                     directory_key(partition, id), &bytes);
    Result<SegmentDirectoryPtr> directory =
        status.ok() ? SegmentDirectory::open(bytes) : Result<SegmentDirectoryPtr>(from_status(status, "read it"));
    if (!directory || (*directory)->block_count() == 0) {
      repair_.findings.damaged({"segments",
                                "segment " + std::to_string(id) + " of partition " + std::to_string(partition),
                                "its record and its directory are lost"});
      return nullptr;
    }
    SegmentInfo info;
    info.partition = partition;
    info.id = id;
    info.rows = (*directory)->rows();
    info.traces = (*directory)->traces();
    info.first_sequence = UINT64_MAX;
    info.min_start_unix_nano = UINT64_MAX;
    for (uint32_t block = 0; block < (*directory)->block_count(); ++block) {
      const BlockZone& zone = (*directory)->zone(block);
      info.first_sequence = std::min(info.first_sequence, zone.min_sequence);
      info.last_sequence = std::max(info.last_sequence, zone.max_sequence);
      info.min_start_unix_nano = std::min(info.min_start_unix_nano, zone.min_start_unix_nano);
      info.max_start_unix_nano = std::max(info.max_start_unix_nano, zone.max_start_unix_nano);
    }
    set_reception(view, info);
    return std::make_shared<SegmentInfo>(info);
  }

  void set_reception(const View& view, SegmentInfo& info) const {
    const auto later =
        std::ranges::find_if(view.segments, [&](const SegmentInfoPtr& one) { return one->id > info.id; });
    const bool has_before = later != view.segments.begin();
    const bool has_later = later != view.segments.end();
    info.last_received_unix_nano = has_later ? (*later)->first_received_unix_nano : repair_.clock.newest_nano;
    info.first_received_unix_nano =
        has_before ? (*std::prev(later))->last_received_unix_nano : info.last_received_unix_nano;
  }

  const RepairCopy& repair_;
};

}  // namespace

void add_orphans(const RepairCopy& repair, View& view) {
  Orphans(repair).add(view);
}

}  // namespace fathom::store
