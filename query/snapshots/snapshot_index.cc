#include "query/snapshots/snapshot_index.h"

#include <algorithm>

namespace fathom::query {

bool SnapshotFilter::matches(const SnapshotSummary& summary) const {
  const uint64_t instant = summary.instant_unix_nano();
  return instant >= range.from_unix_nano && instant < range.to_unix_nano &&
         (!trace_id || summary.trigger.trace_id == *trace_id) && (!host || summary.host == *host);
}

namespace {

SteppedProcess stepped_process(const SnapshotSummary& summary, const SteppedWindow& window) {
  const auto programs = summary.programs.find(window.pid);
  return {.snapshot = summary.id,
          .host = summary.host,
          .window = window,
          .trace_id = summary.trigger.trace_id,
          .span_id = summary.trigger.span_id,
          .programs = programs == summary.programs.end() ? std::vector<std::string>() : programs->second};
}

}  // namespace

bool SnapshotIndex::add(SharedSummary summary) {
  if (!by_id_.emplace(summary->id, summary).second) return false;
  by_instant_.emplace(SnapshotCursor{summary->instant_unix_nano(), summary->id}, summary);
  by_reception_.insert({summary->received_stamp_nano, summary->id});
  if (!summary->stepped.empty()) stepped_.emplace(summary->id, summary);
  bytes_.snapshots += summary->bytes;
  bytes_.memory += summary->memory_bytes();
  count_trace(*summary, true);
  name_images(*summary);
  return true;
}

SharedSummary SnapshotIndex::remove(const SnapshotId& id) {
  SharedSummary summary = find(id);
  if (summary == nullptr) return nullptr;
  by_id_.erase(id);
  by_instant_.erase({summary->instant_unix_nano(), id});
  by_reception_.erase({summary->received_stamp_nano, id});
  stepped_.erase(id);
  bytes_.snapshots -= summary->bytes;
  bytes_.memory -= summary->memory_bytes();
  count_trace(*summary, false);
  unname_images(*summary);
  return summary;
}

void SnapshotIndex::count_trace(const SnapshotSummary& summary, bool more) {
  const TraceId& trace_id = summary.trigger.trace_id;
  if (trace_id.is_zero()) return;
  if (more) {
    ++of_traces_[trace_id];
  } else if (auto known = of_traces_.find(trace_id); --known->second == 0) {
    of_traces_.erase(known);
  }
}

size_t SnapshotIndex::count_of_trace(const TraceId& trace_id) const {
  auto found = of_traces_.find(trace_id);
  return found == of_traces_.end() ? 0 : found->second;
}

std::vector<TraceId> SnapshotIndex::traces() const {
  std::vector<TraceId> found;
  for (const auto& [trace_id, snapshots] : of_traces_) found.push_back(trace_id);
  return found;
}

std::vector<SteppedProcess> SnapshotIndex::stepped(const store::TimeRange& range) const {
  std::vector<SteppedProcess> found;
  for (const auto& [id, summary] : stepped_) {
    for (const SteppedWindow& window : summary->stepped) {
      const bool meets = window.begin_unix_nano < range.to_unix_nano && window.end_unix_nano > range.from_unix_nano;
      if (meets) found.push_back(stepped_process(*summary, window));
    }
  }
  return found;
}

SharedSummary SnapshotIndex::find(const SnapshotId& id) const {
  auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

SharedSummary SnapshotIndex::oldest() const {
  return by_reception_.empty() ? nullptr : find(by_reception_.begin()->id);
}

SnapshotPage SnapshotIndex::page(const SnapshotFilter& filter, size_t limit,
                                 const std::optional<SnapshotCursor>& cursor) const {
  SnapshotPage page;
  auto row = std::make_reverse_iterator(cursor ? by_instant_.lower_bound(*cursor) : by_instant_.end());
  for (; row != by_instant_.rend(); ++row) {
    if (!filter.matches(*row->second)) continue;
    if (page.rows.size() == limit) {
      page.next = {page.rows.back()->instant_unix_nano(), page.rows.back()->id};
      break;
    }
    page.rows.push_back(row->second);
  }
  return page;
}

uint64_t SnapshotIndex::image_bytes(const Sha256& content) const {
  auto found = images_.find(content);
  return found == images_.end() ? 0 : found->second.bytes;
}

void SnapshotIndex::name_images(const SnapshotSummary& summary) {
  for (const Sha256& content : summary.contents) {
    if (++named_[content] > 1) continue;
    bytes_.named_images += image_bytes(content);
    bytes_.unnamed_images -= image_bytes(content);
  }
}

void SnapshotIndex::unname_images(const SnapshotSummary& summary) {
  for (const Sha256& content : summary.contents) {
    auto named = named_.find(content);
    if (--named->second > 0) continue;
    named_.erase(named);
    bytes_.named_images -= image_bytes(content);
    bytes_.unnamed_images += image_bytes(content);
  }
}

void SnapshotIndex::add_image(const Sha256& content, uint64_t bytes, uint64_t touched_unix_nano) {
  if (!images_.emplace(content, Image{bytes, touched_unix_nano}).second) return;
  (is_named(content) ? bytes_.named_images : bytes_.unnamed_images) += bytes;
}

void SnapshotIndex::remove_image(const Sha256& content) {
  (is_named(content) ? bytes_.named_images : bytes_.unnamed_images) -= image_bytes(content);
  images_.erase(content);
}

bool SnapshotIndex::touch_image(const Sha256& content, uint64_t unix_nano) {
  auto found = images_.find(content);
  if (found == images_.end()) return false;
  found->second.touched_unix_nano = std::max(found->second.touched_unix_nano, unix_nano);
  return true;
}

std::vector<Sha256> SnapshotIndex::superfluous_images(uint64_t untouched_since_unix_nano) const {
  std::vector<Sha256> superfluous;
  for (const auto& [content, image] : images_) {
    if (image.touched_unix_nano < untouched_since_unix_nano && !is_named(content)) superfluous.push_back(content);
  }
  return superfluous;
}

size_t SnapshotIndex::missing_images(const SnapshotSummary& summary) const {
  return summary.unreadable_images +
         static_cast<size_t>(std::ranges::count_if(summary.contents, [this](const auto& c) { return !has_image(c); }));
}

}  // namespace fathom::query
