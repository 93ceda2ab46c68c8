// View: one consistent state of the store for a reader: generations in memory, sealed segments, a RocksDB snapshot.
//
// Purpose: sealing moves rows from memory to files; a reader must see them on exactly one side. Whoever publishes a
// segment takes the snapshot after ingesting it and removes the generation in the same View; readers keep the View they
// began with. Thread safety: a View is immutable; ViewHolder is for all threads. Ownership: Views share everything.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/db.h>

#include "base/result.h"
#include "store/rocks/corrections.h"
#include "store/rocks/generation.h"
#include "store/span_store.h"

namespace fathom::store {

struct SegmentInfo {
  uint32_t partition = 0;
  uint32_t id = 0;
  uint64_t first_sequence = 0;  // of the batches sealed in it
  uint64_t last_sequence = 0;
  uint64_t first_received_unix_nano = 0;
  uint64_t last_received_unix_nano = 0;
  uint64_t rows = 0;
  uint64_t traces = 0;
  uint64_t bytes = 0;
  // Over rows and over traces' cumulative starts; inclusive.
  uint64_t min_start_unix_nano = 0;
  uint64_t max_start_unix_nano = 0;
  // Of spans alone, for latency.
  uint64_t max_span_duration_nano = 0;
  uint64_t max_trace_duration_nano = 0;

  bool touches(const TimeRange& range) const {
    return max_start_unix_nano >= range.from_unix_nano && min_start_unix_nano < range.to_unix_nano;
  }
  std::string encode() const;  // docs/formats/data-directory.md
  static Result<SegmentInfo> decode(std::string_view key, std::string_view value);
};
using SegmentInfoPtr = std::shared_ptr<const SegmentInfo>;

struct View {
  std::vector<std::shared_ptr<Generation>> generations;  // oldest first; the last one takes rows
  std::vector<SegmentInfoPtr> segments;                  // by id
  std::shared_ptr<const rocksdb::Snapshot> snapshot;
  std::shared_ptr<const Corrections> corrections = std::make_shared<Corrections>();
  // Shared by all views between two drops: once it is gone, nobody sees what was dropped before the next one.
  std::shared_ptr<const bool> era = std::make_shared<const bool>();

  SegmentInfoPtr segment(uint32_t id) const;
  // Partitions that hold segments, ascending.
  std::vector<uint32_t> partitions() const;
  // Those of them whose segments touch the range.
  std::vector<uint32_t> partitions(const TimeRange& range) const;
};
using ViewPtr = std::shared_ptr<const View>;

std::shared_ptr<const rocksdb::Snapshot> take_snapshot(rocksdb::DB& db);

class ViewHolder {
 public:
  ViewPtr get() const {
    std::lock_guard lock(mutex_);
    return view_;
  }
  // Changes a copy of the view and publishes it.
  void update(const std::function<void(View&)>& change);

 private:
  mutable std::mutex mutex_;
  std::mutex updating_;
  ViewPtr view_ = std::make_shared<View>();
};

}  // namespace fathom::store
