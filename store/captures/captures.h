// Captures: the CaptureStore of a RocksStore: files for contents, RocksDB for the rest.
//
// Purpose: uploads, questions, and the thread that ends idle uploads and applies retention. How rows and files are kept
// in agreement: capture_keeper.h; the bytes: docs/formats/captures.md. Thread safety: all of it between start() and
// stop(). Ownership: the engine outlives it; so do writers until stop(). Errors: as CaptureStore says.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "store/captures/capture_keeper.h"
#include "store/captures/capture_upload.h"
#include "store/rocks/scheduler.h"

namespace fathom::store {

class Captures : public CaptureStore {
 public:
  explicit Captures(Engine& engine);
  ~Captures() override;

  Result<> start();
  void stop();

  Result<std::unique_ptr<CaptureWriter>> begin(const CaptureInfo& info) override;
  Result<StoredCapture> info(const CaptureId& id) override;
  Result<std::vector<StoredCapture>> of_trace(const TraceId& trace_id, QueryBudget& budget) override;
  Result<std::vector<TraceId>> traces(QueryBudget& budget) override;
  Result<CapturePage> find(const CaptureFilter& filter, size_t limit, const std::optional<CaptureCursor>& cursor,
                           QueryBudget& budget) override;
  Result<std::string> read(const CaptureId& id, uint64_t offset, size_t size) override;
  Result<> put_skipped(const std::vector<SkippedCapture>& skipped) override;
  Result<std::vector<SkippedCapture>> skipped_of_trace(const TraceId& trace_id, QueryBudget& budget) override;
  Result<> drop_before(uint64_t received_unix_nano) override;
  CaptureStats stats() override;
  std::vector<Loss> losses() override;

 private:
  Result<std::shared_ptr<CaptureUpload>> open_upload(const CaptureInfo& info);
  Result<bool> is_stored(const CaptureInfo& info) const;
  Result<> admit(const CaptureInfo& info);
  StoredCapture stored(const CaptureInfo& info) const;
  using Visit = std::function<bool(const CaptureInfo&)>;  // returns whether to continue
  Result<> each_of_trace(const TraceId& trace_id, CaptureTable::Kind kind, QueryBudget& budget,
                         const Visit& visit) const;
  void run();
  void tick();
  void end_idle_uploads();
  bool is_stopping() const;

  Engine& engine_;
  CaptureKeeper keeper_;
  mutable std::mutex mutex_;
  WaitCondition wake_;
  bool stopping_ = false;
  std::vector<std::shared_ptr<CaptureUpload>> uploads_;
  StoreThread thread_;
};

}  // namespace fathom::store
