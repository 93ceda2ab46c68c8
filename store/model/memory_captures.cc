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
    if (stored_already_) return store_.keep_known(info_);
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
  if (is_skipped(info.id)) return invalid("the id of a skipped one");
  std::lock_guard lock(mutex_);
  auto found = kept_.find(info.id);
  const bool is_here = !info.sha256.is_zero() && found != kept_.end();
  if (is_here && found->second.info.sha256 != info.sha256) return invalid("stored with other content");
  const bool is_known = is_here || this->is_known(info);
  if (!is_known && info.size_bytes > options_.most_bytes) return exhausted("too large");
  CaptureInfo begun = info;
  begun.received_unix_nano = options_.now_unix_nano();
  ++writers_;
  return std::unique_ptr<CaptureWriter>(std::make_unique<MemoryCaptureWriter>(*this, std::move(begun), is_known));
}

const MemoryCaptures::Kept* MemoryCaptures::of_content(const Sha256& hash) const {
  const auto found = std::ranges::find_if(kept_, [&](const auto& entry) { return entry.second.info.sha256 == hash; });
  return found == kept_.end() ? nullptr : &found->second;
}

bool MemoryCaptures::is_known(const CaptureInfo& info) const {
  if (info.sha256.is_zero() || info.size_bytes == 0) return false;
  const Kept* other = of_content(info.sha256);
  return other != nullptr && other->info.size_bytes == info.size_bytes;
}

AppendResult MemoryCaptures::keep_known(CaptureInfo info) {
  std::string content;
  {
    std::lock_guard lock(mutex_);
    const Kept* other = of_content(info.sha256);
    if (other == nullptr) return {AppendOutcome::kRetryable, "the content was dropped", false};
    info.size_bytes = other->info.size_bytes;
    content = other->content;
  }
  return keep(std::move(info), std::move(content));
}

AppendResult MemoryCaptures::keep(CaptureInfo info, std::string content) {
  std::lock_guard lock(mutex_);
  if (auto found = kept_.find(info.id); found != kept_.end()) {
    if (found->second.info.sha256 == info.sha256) return {AppendOutcome::kDurable, "", true};
    return {AppendOutcome::kRejected, "stored with other content", false};
  }
  const uint64_t charge = capture_charge_bytes(info.size_bytes), most = budget_without_skipped(options_.bytes);
  if (most != 0 && charge > most) return {AppendOutcome::kRejected, "too large", false};
  if (most != 0) drop_beyond(most, &info);
  kept_.emplace(info.id, Kept{info, std::move(content)});
  return {};
}

void MemoryCaptures::drop_beyond(uint64_t most, const CaptureInfo* more) {
  while (bytes(more) > most) kept_.erase(oldest());
}

// Budget that the stored captures use, together with one more.
uint64_t MemoryCaptures::bytes(const CaptureInfo* more) const {
  uint64_t sum = 0;
  std::set<Sha256> contents;
  const auto add = [&](const CaptureInfo& info) {
    sum += capture_charge_bytes(contents.insert(info.sha256).second ? info.size_bytes : 0);
  };
  for (const auto& [id, kept] : kept_) add(kept.info);
  if (more != nullptr) add(*more);
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

Result<> MemoryCaptures::put_skipped(const std::vector<SkippedCapture>& skipped) {
  std::lock_guard lock(mutex_);
  std::vector<CaptureInfo> headers;
  for (const SkippedCapture& one : skipped) {
    CaptureInfo header = header_of(one);
    header.id = skipped_id(++last_skipped_);
    header.received_unix_nano = options_.now_unix_nano();
    if (check(header) && !one.trace_id.is_zero()) headers.push_back(std::move(header));
  }
  const uint64_t most = most_skipped_captures(options_.bytes), piece = skipped_captures_at_once(most);
  for (size_t at = 0; at < headers.size() && most > 0; at += piece) {
    const size_t end = std::min<size_t>(at + piece, headers.size());
    drop_skipped(skipped_captures_to_drop(skipped_.size(), end - at, most));
    for (size_t i = at; i < end; ++i) skipped_.emplace(headers[i].id, headers[i]);
  }
  return {};
}

void MemoryCaptures::drop_skipped(uint64_t count) {
  for (; count > 0 && !skipped_.empty(); --count) {
    const NodeId node = node_with_most_skipped();
    skipped_.erase(std::ranges::find_if(skipped_, [&](const auto& entry) { return entry.second.node_id == node; }));
  }
}

NodeId MemoryCaptures::node_with_most_skipped() const {
  std::map<NodeId, uint64_t> counts;
  for (const auto& [id, header] : skipped_) ++counts[header.node_id];
  std::pair<uint64_t, NodeId> most;
  for (const auto& [node, count] : counts) most = std::max(most, {count, node});
  return most.second;
}

Result<std::vector<SkippedCapture>> MemoryCaptures::skipped_of_trace(const TraceId& trace_id, QueryBudget& budget) {
  if (Result<> checked = budget.check(); !checked) return checked.error();
  std::lock_guard lock(mutex_);
  std::vector<SkippedCapture> found;
  for (const auto& [id, header] : skipped_) {
    if (!trace_id.is_zero() && header.trace_id == trace_id) found.push_back(skipped_of(header));
  }
  std::ranges::stable_sort(found, {}, &SkippedCapture::skipped_unix_nano);
  found.erase(found.begin() + static_cast<std::ptrdiff_t>(std::min(found.size(), kMostSkippedOfTrace)), found.end());
  return found;
}

Result<> MemoryCaptures::drop_before(uint64_t received_unix_nano) {
  std::lock_guard lock(mutex_);
  std::erase_if(kept_, [&](const auto& row) { return row.second.info.received_unix_nano < received_unix_nano; });
  std::erase_if(skipped_, [&](const auto& row) { return row.second.received_unix_nano < received_unix_nano; });
  return {};
}

CaptureStats MemoryCaptures::stats() {
  std::lock_guard lock(mutex_);
  CaptureStats stats;
  stats.skipped = skipped_.size();
  stats.captures = kept_.size();
  stats.bytes = bytes() + skipped_.size() * capture_charge_bytes(0);
  stats.writers = writers_;
  if (!kept_.empty()) stats.oldest_received_unix_nano = oldest()->second.info.received_unix_nano;
  return stats;
}

}  // namespace fathom::store
