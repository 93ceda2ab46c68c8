// SnapshotStore: the server's snapshots and their images: taken in, found, read, asked, and dropped in time.
//
// Purpose: owns DATA/server-snapshots, a snapshot::SnapshotDirectory. What comes in is checked before it gets a name:
// its hash is its name, and a snapshot's description decodes. What packets and images hold is judged by fathom-worker
// alone, a process of its own. Retention: what was received longer ago than spans are kept goes, by the age clock,
// whose stamp is the time of modification of a snapshot's file; beyond the budget of bytes the snapshots received first
// go (with images that nobody names any more); images that no snapshot names go an hour after anybody cared for them,
// so that they may come before their snapshot. Thread safety: all of it. take(), read...(), description() and ask()
// wait for the disk or for a child: never call them on a thread that has connections to serve. Ownership: whoever holds
// the data directory; one per directory. Errors: kNotFound, kUnavailable (try again), kExhausted (a limit), kInvalid,
// kCorrupt. Losses and sizes: snapshot_counters.h.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/settable.h"
#include "base/sync_directory.h"
#include "query/snapshots/snapshot_index.h"
#include "query/snapshots/uploads.h"
#include "snapshot/source/source_files.h"
#include "store/clock/age_clock.h"

namespace fathom::query {

// Runs fathom-worker with these words; what it printed. Errors: its own, by kind; kDeadline and kCancelled as the
// budget says; kExhausted for an answer that is too long.
using RunWorker = std::function<Result<std::string>(const std::vector<std::string>& words, store::QueryBudget& budget)>;

// Asks what keeps a snapshot of this directory open, in the words of docs/formats/view.md; its document. Errors: as
// above.
using LookInto = std::function<Result<std::string>(const std::string& directory, const SnapshotId& id,
                                                   const std::string& ask, store::QueryBudget& budget)>;

// Of one description, which becomes some ten times as much in memory; one is decoded at a time.
inline constexpr uint64_t kMostServedMetadataBytes = 16 << 20;
inline constexpr uint64_t kMostImageBytes = 4ULL << 30;
inline constexpr uint64_t kMostSnapshotBytes = 64ULL << 30;

struct SnapshotOptions {
  std::string path;                             // nobody else's: what is not known here is removed
  Settable<uint64_t> most_bytes = 10ULL << 30;  // snapshots, named images and results; 0: no limit
  Settable<uint64_t> retention_age_nano = 0;    // 0: no limit
  Settable<uint64_t> reserve_disk_bytes =
      0;  // nothing is taken while less than twice this, or a quarter of the disk, is free
  uint64_t image_grace_nano = kNanosPerHour;
  UploadLimits uploads;
  std::vector<snapshot::SourceDirectory> source_directories;  // whose files source() shows
  // Makes the names in a directory durable; tests replace it.
  std::function<Result<>(const std::string& path)> sync_directory = fathom::sync_directory;
  std::shared_ptr<const store::AgeClock> clock;  // by which they age; null: one that begins with the store
  uint64_t tick_nano = 60 * kNanosPerSecond;
};

class SnapshotStore {
 public:
  // Reads what is there on a thread of its own; until that is done, lists and uploads are kUnavailable.
  static Result<std::unique_ptr<SnapshotStore>> open(SnapshotOptions options, RunWorker run_worker,
                                                     LookInto look_into = {});
  ~SnapshotStore();

  Result<UploadReply> take(const UploadPiece& piece, std::string_view bytes);
  // Those that are not here. The others stay for a while, whoever names them.
  std::vector<Sha256> missing_images(std::span<const Sha256> contents);

  Result<SnapshotPage> page(const SnapshotFilter& filter, size_t limit, const std::optional<SnapshotCursor>& cursor);
  // Newest first; a few at most, and none while they are still read.
  std::vector<SharedSummary> of_trace(const TraceId& trace_id) const;
  // All of them; a look-up.
  size_t count_of_trace(const TraceId& trace_id) const;
  Result<std::vector<TraceId>> traces() const;  // that have any, in no order
  std::vector<SteppedProcess> stepped(const store::TimeRange& range) const;
  Result<SharedSummary> find(const SnapshotId& id) const;
  size_t missing_images(const SnapshotSummary& summary) const;
  bool has_image(const Sha256& content) const;
  Result<snapshot::Snapshot> description(const SnapshotId& id) const;
  // At most `size` bytes from `offset`; fewer at the end, none behind it.
  Result<std::string> read(const ContentName& name, uint64_t offset, size_t size) const;
  // `words`: what follows "--directory DIR".
  Result<std::string> ask(std::vector<std::string> words, store::QueryBudget& budget) const;
  Result<std::string> look_into(const SnapshotId& id, const std::string& ask, store::QueryBudget& budget) const;

  // Of a file as rows of a snapshot name it; only below `source_directories`. Whether a row does, the caller checks.
  Result<snapshot::SourceText> source(const SnapshotId& id, const std::string& file, uint32_t line,
                                      uint32_t context) const;

  // Takes the settable members of `options`; what is beyond them goes with the next tick.
  void set_retention(const SnapshotOptions& options);
  // What the store's own thread does every minute.
  void tick();
  void wait_until_read();  // for tests: all that was there at open() is known

 private:
  SnapshotStore(SnapshotOptions options, RunWorker run_worker, LookInto look_into,
                snapshot::SnapshotDirectory directory);

  void run();
  void read_directory();
  void read_images();
  void read_snapshot(const SnapshotId& id);
  Result<SnapshotSummary> summary_of(const StoredSnapshot& stored, const std::string& path) const;
  bool is_stored(const ContentName& name) const;
  Result<> admit(const UploadPiece& piece, uint64_t bytes) const;
  bool is_crowded() const;  // with mutex_ held
  Result<> room_on_disk(uint64_t bytes) const;
  Result<> publish(const UploadPiece& piece, const std::string& draft);
  Result<> publish_snapshot(const UploadPiece& piece, const std::string& draft);
  Result<> publish_image(const UploadPiece& piece, const std::string& draft);
  Result<> make_durable(const ContentName& name, const std::string& folder, const std::string& path);

  // With mutex_ held.
  void apply_retention();
  bool beyond_budget() const;
  void drop(const SharedSummary& summary, const char* reason);
  void drop_images();
  void show() const;
  void sweep();

  SnapshotOptions options_;  // constant but for what set_retention() changes
  const RunWorker run_worker_;
  const LookInto look_into_;
  const snapshot::SnapshotDirectory directory_;
  const snapshot::SourceFiles sources_;
  mutable std::mutex mutex_;
  mutable std::mutex decoding_;
  std::mutex publishing_;  // from the renaming of a file until the index has it; taken before mutex_
  std::condition_variable wake_;
  SnapshotIndex index_;
  uint64_t result_bytes_ = 0;
  bool read_ = false;
  bool stopping_ = false;
  Uploads uploads_;
  std::thread thread_;
};

}  // namespace fathom::query
