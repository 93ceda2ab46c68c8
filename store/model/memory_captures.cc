#include "store/model/memory_captures.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/sha256.h"

namespace fathom::store {

class MemoryCaptureWriter : public CaptureWriter {
 public:
  MemoryCaptureWriter(MemoryCaptures& store, CaptureInfo info, bool stored_already)
      : store_(store), info_(std::move(info)), stored_already_(stored_already) {}
  ~MemoryCaptureWriter() override { end(); }

  bool is_stored_already() const override { return stored_already_; }
  uint64_t size_bytes() const override { return content_.size(); }

  Result<> append(uint64_t offset, std::string_view bytes) override {
    if (answer_) {
      return answer_->outcome == AppendOutcome::kDurable ? invalid("finished") : exhausted(answer_->message);
    }
    if (offset != content_.size()) return invalid("a piece begins elsewhere");
    uint64_t most = info_.size_bytes != 0 ? info_.size_bytes : store_.options_.most_bytes;
    if (!stored_already_ && content_.size() + bytes.size() > most) {
      give({AppendOutcome::kRejected, "larger than it may be", false});
      return exhausted(answer_->message);
    }
    content_.append(bytes);
    return {};
  }

  AppendResult finish() override {
    if (!answer_) give(complete());
    return *answer_;
  }

 private:
  AppendResult complete() {
    if (stored_already_) return {AppendOutcome::kDurable, "", true};
    Sha256 hash = sha256(content_);
    bool as_announced = (info_.sha256.is_zero() || info_.sha256 == hash) &&
                        (info_.size_bytes == 0 || info_.size_bytes == content_.size());
    if (!as_announced) return {AppendOutcome::kRejected, "not as announced", false};
    info_.sha256 = hash;
    info_.size_bytes = content_.size();
    return store_.keep(info_, content_);
  }
  void give(AppendResult answer) {
    answer_ = std::move(answer);
    end();
  }
  void end() {
    if (std::exchange(ended_, true)) return;
    std::lock_guard lock(store_.mutex_);
    --store_.writers_;
  }

  MemoryCaptures& store_;
  CaptureInfo info_;
  const bool stored_already_;
  std::string content_;
  std::optional<AppendResult> answer_;
  bool ended_ = false;
};

Result<std::unique_ptr<CaptureWriter>> MemoryCaptures::begin(const CaptureInfo& info) {
  if (Result<> checked = check(info); !checked) return checked.error();
  std::lock_guard lock(mutex_);
  auto found = kept_.find(info.id);
  bool is_known = !info.sha256.is_zero() && found != kept_.end();
  if (is_known && found->second.info.sha256 != info.sha256) return invalid("stored with other content");
  if (!is_known && info.size_bytes > options_.most_bytes) return exhausted("too large");
  CaptureInfo begun = info;
  begun.received_unix_nano = options_.now_unix_nano();
  ++writers_;
  return std::unique_ptr<CaptureWriter>(std::make_unique<MemoryCaptureWriter>(*this, std::move(begun), is_known));
}

AppendResult MemoryCaptures::keep(CaptureInfo info, std::string content) {
  std::lock_guard lock(mutex_);
  if (auto found = kept_.find(info.id); found != kept_.end()) {
    if (found->second.info.sha256 == info.sha256) return {AppendOutcome::kDurable, "", true};
    return {AppendOutcome::kRejected, "stored with other content", false};
  }
  uint64_t charge = capture_charge_bytes(info.size_bytes);
  if (options_.bytes != 0 && charge > options_.bytes) return {AppendOutcome::kRejected, "too large", false};
  if (options_.bytes != 0) drop_beyond(options_.bytes - charge);
  kept_.emplace(info.id, Kept{info, std::move(content)});
  return {};
}

void MemoryCaptures::drop_beyond(uint64_t most) {
  while (bytes() > most) kept_.erase(oldest());
}

uint64_t MemoryCaptures::bytes() const {
  uint64_t sum = 0;
  for (const auto& [id, kept] : kept_) sum += capture_charge_bytes(kept.info.size_bytes);
  return sum;
}

std::map<CaptureId, MemoryCaptures::Kept>::const_iterator MemoryCaptures::oldest() const {
  return std::min_element(kept_.begin(), kept_.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second.info.received_unix_nano, a.first) < std::tie(b.second.info.received_unix_nano, b.first);
  });
}

Result<StoredCapture> MemoryCaptures::info(const CaptureId& id) {
  std::lock_guard lock(mutex_);
  auto found = kept_.find(id);
  if (found == kept_.end()) return not_found("not stored");
  return StoredCapture{found->second.info, false};
}

Result<std::vector<StoredCapture>> MemoryCaptures::of_trace(const TraceId& trace_id, QueryBudget& budget) {
  std::vector<StoredCapture> found;
  CaptureFilter filter;
  filter.trace_id = trace_id;
  if (trace_id.is_zero()) return found;
  Result<CapturePage> page = find(filter, SIZE_MAX, std::nullopt, budget);
  if (!page) return page.error();
  std::reverse(page->rows.begin(), page->rows.end());
  return page->rows;
}

Result<std::vector<TraceId>> MemoryCaptures::traces(QueryBudget& budget) {
  if (Result<> checked = budget.check(); !checked) return checked.error();
  std::set<TraceId> found;
  std::lock_guard lock(mutex_);
  for (const auto& [id, kept] : kept_) {
    if (!kept.info.trace_id.is_zero()) found.insert(kept.info.trace_id);
  }
  return std::vector<TraceId>(found.begin(), found.end());
}

Result<CapturePage> MemoryCaptures::find(const CaptureFilter& filter, size_t limit,
                                         const std::optional<CaptureCursor>& cursor, QueryBudget& budget) {
  if (Result<> checked = budget.check(); !checked) return checked.error();
  auto place = [](const CaptureInfo& info) { return std::tie(info.start_unix_nano, info.id); };
  CapturePage page;
  if (limit == 0) return page;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, kept] : kept_) {
      bool behind = !cursor || place(kept.info) < std::tie(cursor->start_unix_nano, cursor->id);
      if (behind && filter.matches(kept.info)) page.rows.push_back({kept.info, false});
    }
  }
  std::sort(page.rows.begin(), page.rows.end(),
            [&](const StoredCapture& a, const StoredCapture& b) { return place(a.info) > place(b.info); });
  if (page.rows.size() <= limit) return page;
  page.rows.resize(limit);
  page.next = CaptureCursor{page.rows.back().info.start_unix_nano, page.rows.back().info.id};
  return page;
}

Result<std::string> MemoryCaptures::read(const CaptureId& id, uint64_t offset, size_t size) {
  std::lock_guard lock(mutex_);
  auto found = kept_.find(id);
  if (found == kept_.end()) return not_found("not stored");
  const std::string& content = found->second.content;
  return offset >= content.size() ? "" : content.substr(offset, size);
}

Result<> MemoryCaptures::drop_before(uint64_t received_unix_nano) {
  std::lock_guard lock(mutex_);
  std::erase_if(kept_, [&](const auto& row) { return row.second.info.received_unix_nano < received_unix_nano; });
  return {};
}

CaptureStats MemoryCaptures::stats() {
  std::lock_guard lock(mutex_);
  CaptureStats stats;
  stats.captures = kept_.size();
  stats.bytes = bytes();
  stats.writers = writers_;
  if (!kept_.empty()) stats.oldest_received_unix_nano = oldest()->second.info.received_unix_nano;
  return stats;
}

}  // namespace fathom::store
