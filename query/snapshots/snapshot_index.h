// SnapshotIndex: which snapshots and images there are, who names whom, and what must go first.
//
// Purpose: the server's knowledge of its directory of snapshots, apart from the files. Definitions: a list is ordered
// by the instant at which snapshots were taken (of which that is not known: received), then id, both descending.
// Retention drops those that were received first, then the lesser id. An image is *named* while a stored snapshot has
// it. Thread safety: none; the owner locks. Ownership: summaries are shared with whoever was given them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "query/snapshots/summary.h"
#include "store/span_store.h"

namespace fathom::query {

using SharedSummary = std::shared_ptr<const SnapshotSummary>;

struct SnapshotFilter {
  store::TimeRange range{0, UINT64_MAX};  // of the instants
  std::optional<TraceId> trace_id;
  std::optional<std::string> host;

  bool matches(const SnapshotSummary& summary) const;
};

// Where a page ended.
struct SnapshotCursor {
  uint64_t instant_unix_nano = 0;
  SnapshotId id;
  auto operator<=>(const SnapshotCursor&) const = default;
};

struct SnapshotPage {
  std::vector<SharedSummary> rows;
  std::optional<SnapshotCursor> next;  // nothing when this was the last page
};

// A process that the stepper held for a while.
struct SteppedProcess {
  SnapshotId snapshot;
  std::string host;
  SteppedWindow window;
  // Of the request for which the snapshot was made, if it was for one; the span may be another process's.
  TraceId trace_id;
  SpanId span_id;
  std::vector<std::string> programs;  // that it runs, by the base names of their files; empty: not known
};

struct SnapshotBytes {
  uint64_t snapshots = 0;
  uint64_t named_images = 0;
  uint64_t unnamed_images = 0;
  uint64_t memory = 0;  // that summaries take

  uint64_t images() const { return named_images + unnamed_images; }
};

class SnapshotIndex {
 public:
  // False: it is known already.
  bool add(SharedSummary summary);
  SharedSummary remove(const SnapshotId& id);  // null: it is not known
  SharedSummary find(const SnapshotId& id) const;
  SharedSummary oldest() const;  // by reception; null: there is none
  SnapshotPage page(const SnapshotFilter& filter, size_t limit, const std::optional<SnapshotCursor>& cursor) const;
  size_t count_of_trace(const TraceId& trace_id) const;
  std::vector<TraceId> traces() const;  // that have any, in no order
  // Whose windows have anything of the range.
  std::vector<SteppedProcess> stepped(const store::TimeRange& range) const;
  size_t snapshots() const { return by_id_.size(); }

  // `touched`: when somebody last cared for it, by bringing it or by asking whether it is here.
  void add_image(const Sha256& content, uint64_t bytes, uint64_t touched_unix_nano);
  void remove_image(const Sha256& content);
  bool has_image(const Sha256& content) const { return images_.contains(content); }
  bool touch_image(const Sha256& content, uint64_t unix_nano);  // false: it is not here
  // Those that nothing names and nobody cared for since.
  std::vector<Sha256> superfluous_images(uint64_t untouched_since_unix_nano) const;
  size_t images() const { return images_.size(); }
  size_t missing_images(const SnapshotSummary& summary) const;  // of what it names

  const SnapshotBytes& bytes() const { return bytes_; }

 private:
  struct Image {
    uint64_t bytes = 0;
    uint64_t touched_unix_nano = 0;
  };
  void count_trace(const SnapshotSummary& summary, bool more);
  void name_images(const SnapshotSummary& summary);
  void unname_images(const SnapshotSummary& summary);
  bool is_named(const Sha256& content) const { return named_.contains(content); }
  uint64_t image_bytes(const Sha256& content) const;

  std::unordered_map<SnapshotId, SharedSummary, IdHash> by_id_;
  std::map<SnapshotCursor, SharedSummary> by_instant_;
  std::unordered_map<TraceId, size_t, IdHash> of_traces_;  // how many; only those of a trace
  std::set<SnapshotCursor> by_reception_;
  std::map<SnapshotId, SharedSummary> stepped_;  // those with windows
  std::map<Sha256, Image> images_;
  std::unordered_map<Sha256, uint32_t, IdHash> named_;  // by how many snapshots
  SnapshotBytes bytes_;
};

}  // namespace fathom::query
