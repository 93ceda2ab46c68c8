// MemoryCaptures: the definition of right. CaptureStore by brute force over a map; nothing is durable.
//
// Purpose: every answer is a transcription of the definitions in capture_store.h, so that other engines can be compared
// with it, and programs can be tested without a disk. There is no disk to be full, uploads are never idle for too long,
// and nothing is damaged. Thread safety: one mutex around everything. Ownership: writers must be gone before the store.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/time.h"
#include "store/capture_store.h"

namespace fathom::store {

struct MemoryCaptureOptions {
  uint64_t bytes = 0;  // of the budget; 0: no limit
  uint64_t most_bytes = 64ULL << 20;
  std::function<uint64_t()> now_unix_nano = fathom::now_unix_nano;
};

class MemoryCaptures : public CaptureStore {
 public:
  explicit MemoryCaptures(MemoryCaptureOptions options = {}) : options_(std::move(options)) {}

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

 private:
  friend class MemoryCaptureWriter;
  struct Kept {
    CaptureInfo info;
    std::string content;
  };

  AppendResult keep(CaptureInfo info, std::string content);
  AppendResult keep_known(CaptureInfo info);
  bool is_known(const CaptureInfo& info) const;
  const Kept* of_content(const Sha256& hash) const;
  void drop_beyond(uint64_t bytes, const CaptureInfo* more = nullptr);
  void drop_skipped(uint64_t count);
  NodeId node_with_most_skipped() const;
  uint64_t bytes(const CaptureInfo* more = nullptr) const;
  std::map<CaptureId, Kept>::const_iterator oldest() const;

  const MemoryCaptureOptions options_;
  std::mutex mutex_;
  std::map<CaptureId, Kept> kept_;
  std::map<CaptureId, CaptureInfo> skipped_;  // in the order of put_skipped()
  uint64_t last_skipped_ = 0;
  uint64_t writers_ = 0;
};

}  // namespace fathom::store
