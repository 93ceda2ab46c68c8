#include "store/rocks/distinct_rows.h"

#include <algorithm>

#include "store/rocks/generation.h"
#include "store/rocks/sealed.h"

namespace fathom::store {

namespace {

// In the three tables of DistinctRows, which have room for twice as many and are copied when they grow.
constexpr uint64_t kDistinctRowBytes = 128;

}  // namespace

bool DistinctRows::add(const TraceRow& row, uint64_t content_hash) {
  auto [first, is_new] = first_contents_.try_emplace(row.span_id, content_hash);
  if (!is_new && !has_contents_) return false;
  last_sequence_ = std::max(last_sequence_, row.sequence);
  if (!is_new && (first->second == content_hash || !other_contents_.insert(content_hash).second)) return true;
  tally_.add(row);
  missing_.erase(row.span_id);
  const SpanId& parent = row.parent_span_id;
  if (!parent.is_zero() && !first_contents_.contains(parent)) missing_.insert(parent);
  return true;
}

DistinctRows::Place& DistinctRows::place_in(uint64_t generation) {
  auto known = std::ranges::find(places_, generation, &Place::generation);
  return known != places_.end() ? *known : places_.emplace_back(Place{.generation = generation});
}

TraceSummary DistinctRows::summary() const {
  TraceSummary summary = tally_.summary();
  summary.complete = missing_.empty();
  return summary;
}

uint64_t DistinctRows::memory_bytes() const {
  return sizeof *this + first_contents_.bucket_count() * (sizeof(SpanId) + sizeof(uint64_t) + 1) +
         other_contents_.bucket_count() * (sizeof(uint64_t) + 1) + missing_.bucket_count() * (sizeof(SpanId) + 1) +
         places_.capacity() * sizeof(Place);
}

DistinctRowsPtr DistinctRowsCache::take(const TraceId& id) {
  std::lock_guard lock(mutex_);
  auto found = index_.find(id);
  if (found == index_.end()) return nullptr;
  DistinctRowsPtr rows = std::move(found->second->rows);
  remove(found->second);
  return rows;
}

void DistinctRowsCache::put(const TraceId& id, DistinctRowsPtr rows) {
  std::lock_guard lock(mutex_);
  if (auto known = index_.find(id); known != index_.end()) remove(known->second);
  const uint64_t bytes = rows->memory_bytes();
  recent_.push_front({id, std::move(rows), bytes});
  index_[id] = recent_.begin();
  bytes_ += bytes;
  while (bytes_ > max_bytes_ && recent_.size() > 1) remove(std::prev(recent_.end()));
}

void DistinctRowsCache::remove(std::list<Entry>::iterator entry) {
  bytes_ -= entry->bytes;
  index_.erase(entry->id);
  recent_.erase(entry);
}

uint64_t DistinctRowsCache::memory_bytes() const {
  std::lock_guard lock(mutex_);
  return bytes_;
}

Result<DistinctRowsReader::Answer> DistinctRowsReader::read(const TraceId& id, uint64_t last_sequence) {
  HeldMemory memory = sealed_.budget().hold();
  if (Result<> paid = memory.grow((sealed_.limits().spans + 1) * kDistinctRowBytes); !paid) return paid.error();
  Result<DistinctRowsPtr> rows = open(id);
  if (!rows) return rows.error();
  if (Result<> updated = update(id, last_sequence, *rows); !updated) return updated.error();
  Answer answer;
  if ((*rows)->rows() > 0 && (*rows)->last_sequence() <= last_sequence) answer.summary = (*rows)->summary();
  if (Result<> updated = update(id, UINT64_MAX, *rows); !updated) return updated.error();
  answer.passes_limit = passes_limit(**rows);
  if (!answer.passes_limit) sealed_.oversized().distinct_rows().put(id, std::move(*rows));
  return answer;
}

// The oldest partition is read first: a drop meanwhile makes the result outdated.
Result<DistinctRowsPtr> DistinctRowsReader::open(const TraceId& id) {
  DistinctRows::Sealed sealed{.oldest_partition = sealed_.oldest_partition()};
  Result<std::optional<TracePart>> newest = sealed_.newest_part(id);
  if (!newest) return newest.error();
  if (*newest) sealed.segment = (*newest)->segment;
  DistinctRowsPtr known = sealed_.oversized().distinct_rows().take(id);
  if (known && known->sealed() == sealed && has_places(id, *known)) return known;
  return make(id, sealed, false);
}

Result<DistinctRowsPtr> DistinctRowsReader::make(const TraceId& id, const DistinctRows::Sealed& sealed,
                                                 bool has_contents) {
  auto rows = std::make_unique<DistinctRows>(sealed, has_contents);
  Result<std::vector<TracePart>> parts = sealed_.parts(id);
  if (!parts) return parts.error();
  for (const TracePart& part : *parts) {
    if (passes_limit(*rows)) break;
    Result<bool> added = has_contents ? add_contents(id, part, *rows) : add_part(id, part, *rows);
    if (!added) return added.error();
    if (!*added) return make(id, sealed, true);
  }
  return rows;
}

// Rows are gone from memory when they are sealed or dropped. The view of a query may also be older than the rows.
bool DistinctRowsReader::has_places(const TraceId& id, const DistinctRows& rows) const {
  size_t found = 0;
  for (const auto& generation : sealed_.view().generations) {
    auto lock = generation->read();
    const Generation::Trace* trace = generation->find(id);
    if (trace == nullptr) continue;
    auto place =
        std::ranges::find(rows.places(), generation->sources().front().sequence, &DistinctRows::Place::generation);
    if (place != rows.places().end() && place->rows <= trace->row_count) ++found;
  }
  return found == rows.places().size();
}

Result<> DistinctRowsReader::update(const TraceId& id, uint64_t last_sequence, DistinctRowsPtr& rows) {
  Result<bool> added = add_unsealed(id, last_sequence, *rows);
  if (!added) return added.error();
  if (*added) return {};
  Result<DistinctRowsPtr> with_contents = make(id, rows->sealed(), true);
  if (!with_contents) return with_contents.error();
  rows = std::move(*with_contents);
  added = add_unsealed(id, last_sequence, *rows);
  return added ? Result<>() : Result<>(added.error());
}

Result<bool> DistinctRowsReader::add_part(const TraceId& id, const TracePart& part, DistinctRows& rows) {
  Result<std::vector<TraceRow>> sealed = sealed_.rows(id, part);
  if (!sealed) return sealed.error();
  return std::ranges::all_of(*sealed, [&](const TraceRow& row) { return rows.add(row, 0); });
}

Result<bool> DistinctRowsReader::add_contents(const TraceId& id, const TracePart& part, DistinctRows& rows) {
  Result<LocatedPart> located = sealed_.locate(id, part);
  if (!located) return located.error();
  for (const RowRange& range : located->ranges) {
    Result<StoredRows> stored = located->reader->rows(range.block, range.first_row, range.row_count);
    if (!stored) return stored.error();
    for (const StoredRow& row : stored->rows) {
      rows.add(trace_row(row), content_hash(row.span, row.resource, row.scope, row.clock));
    }
  }
  return true;
}

Result<bool> DistinctRowsReader::add_unsealed(const TraceId& id, uint64_t last_sequence, DistinctRows& rows) {
  for (const auto& generation : sealed_.view().generations) {
    Step step = Step::kMore;
    while (step == Step::kMore && !passes_limit(rows)) {
      uint64_t bytes = 0;
      step = add_some(*generation, id, last_sequence, rows, bytes);
      if (Result<> paid = sealed_.budget().spend(bytes); !paid) return paid.error();
    }
    if (step == Step::kNeedsContents) return false;
  }
  return true;
}

// Not all at once: the writer waits for readers of the newest generation.
DistinctRowsReader::Step DistinctRowsReader::add_some(const Generation& generation, const TraceId& id,
                                                      uint64_t last_sequence, DistinctRows& rows,
                                                      uint64_t& bytes) const {
  constexpr uint32_t kRowsAtOnce = 1024;
  auto lock = generation.read();
  const Generation::Trace* trace = generation.find(id);
  if (trace == nullptr) return Step::kEnd;
  DistinctRows::Place& place = rows.place_in(generation.sources().front().sequence);
  uint32_t next = place.rows == 0 ? trace->first_row : generation.rows()[place.last_row].next;
  for (uint32_t added = 0; added < kRowsAtOnce; ++added) {
    if (next == Generation::kNone || generation.sequence(generation.rows()[next]) > last_sequence) return Step::kEnd;
    const Generation::Row& row = generation.rows()[next];
    const Batch::Row& stored = generation.stored(row);
    const uint64_t content = rows.has_contents() ? generation.batch(row).content_hash(stored) : 0;
    if (!rows.add(generation.trace_row(row), content)) return Step::kNeedsContents;
    bytes += rows.has_contents() ? stored.body_size : 0;
    place = {place.generation, place.rows + 1, next};
    next = row.next;
  }
  return Step::kMore;
}

bool DistinctRowsReader::passes_limit(const DistinctRows& rows) const {
  return rows.rows() > sealed_.limits().spans;
}

}  // namespace fathom::store
