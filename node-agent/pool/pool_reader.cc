#include "node-agent/pool/pool_reader.h"

#include <algorithm>
#include <cassert>
#include <memory>

namespace fathom::agent {

namespace {

using pool::ChunkEntry;

// A chunk's copy. The loop is one thread, and all its readers use the same: it stays in the nearest cache.
char* chunk_copy() {
  static thread_local const std::unique_ptr<char[]> kCopy = std::make_unique<char[]>(PoolFile::kMostChunkBytes);
  return kCopy.get();
}

bool is_record(const RecordWord& word, uint32_t epoch, uint64_t room) {
  return word.epoch == epoch && word.type != 0 && word.bytes != 0 && word.bytes <= pool::kMostRecordBytes &&
         word.bytes <= room;
}

struct Walked {
  uint32_t end = 0;     // of the last record, or of all
  uint32_t gaps = 0;    // stretches without a record
  bool in_gap = false;  // the last of them reaches to the end
};

// Calls `take(record, type)` for each record of `epoch`. Without `resume` it ends at the first word that begins none.
template <typename Take>
Walked walk(std::string_view bytes, uint32_t epoch, bool resume, Take take) {
  Walked walked;
  uint32_t at = 0;
  while (bytes.size() - at >= sizeof(uint64_t)) {
    uint64_t first;
    std::memcpy(&first, bytes.data() + at, sizeof first);
    RecordWord word = take_apart(first);
    // Behind a gap only what is surely a span: a gap may hold half of a record, with a stranger's text in it.
    bool likely = !walked.in_gap || (word.type == static_cast<uint8_t>(pool::RecordType::kSpan) &&
                                     word.bytes >= sizeof(pool::SpanRecord));
    if (likely && is_record(word, epoch, bytes.size() - at)) {
      take(bytes.substr(at, word.bytes), word.type);
      walked.in_gap = false;
      at += word.bytes;
      continue;
    }
    if (!resume) break;
    if (!walked.in_gap) ++walked.gaps;
    walked.in_gap = true;
    at += sizeof first;
  }
  walked.end = at;
  return walked;
}

uint32_t whole_words(uint32_t bytes) {
  return bytes & ~uint32_t{7};
}

}  // namespace

PoolReader::PoolReader(PoolFile file, uint64_t instance, AgentLosses& losses, std::function<void()> step)
    : file_(std::move(file)), instance_(instance), losses_(losses), step_(std::move(step)) {
  cursors_.resize(file_.shape().chunk_count);
  this->step();
  file_.header().reader.store(instance_, std::memory_order_release);
  resume();
}

// ---- where a predecessor stopped ------------------------------------------------------------------------------------

void PoolReader::resume() {
  pool::Header& header = file_.header();
  sequence_ = header.batch_sequence.load(std::memory_order_acquire);
  uint64_t acknowledged = header.acknowledged_sequence.load(std::memory_order_acquire);
  if (sequence_ == acknowledged && acknowledged == header.applied_sequence.load(std::memory_order_acquire))
    return clear_marks();
  find_marked();
  uint64_t bytes = 0;
  for (const Range& range : ranges_) bytes += range.end - range.begin;
  under_way_ = true;
  if (bytes > kMostBatchBytes) {
    losses_.abandoned_batches.add();
    clear_marks();
    ranges_.clear();
  }
  // Acknowledged but not applied to all chunks; or nothing is marked, which no agent does.
  if (sequence_ == acknowledged || ranges_.empty()) return acknowledge();
  resumes_ = true;
}

void PoolReader::find_marked() {
  for (uint32_t chunk = 0; chunk < file_.chunks_used(); ++chunk) {
    Look look = look_at(chunk);
    const ChunkEntry& entry = file_.entry(chunk);
    if (look.epoch == 0 || entry.reader_epoch.load(std::memory_order_acquire) != look.epoch) continue;
    uint32_t begin = cursor_of(chunk, look.epoch).acknowledged;
    uint32_t end = std::min(whole_words(entry.sending.load(std::memory_order_relaxed)), file_.shape().chunk_bytes);
    if (begin < end) ranges_.push_back({chunk, look.epoch, begin, end, look.tid});
  }
}

// Marks of a batch that never began must not look like marks of the next one.
void PoolReader::clear_marks() {
  for (uint32_t chunk = 0; chunk < file_.chunks_used(); ++chunk) {
    ChunkEntry& entry = file_.entry(chunk);
    uint32_t acknowledged = entry.acknowledged.load(std::memory_order_relaxed);
    if (entry.sending.load(std::memory_order_relaxed) == acknowledged) continue;
    step();
    entry.sending.store(acknowledged, std::memory_order_relaxed);
  }
}

// ---- looking --------------------------------------------------------------------------------------------------------

// The epoch is 0 for a chunk that has no records.
PoolReader::Look PoolReader::look_at(uint32_t chunk) const {
  const ChunkEntry& entry = file_.entry(chunk);
  uint64_t word = entry.state.load(std::memory_order_acquire);
  auto state = static_cast<uint32_t>(word);
  if (state != pool::kOwned && state != pool::kSealed) return {};
  // In this order: when both are equal, no write was under way at the second look, nor had begun since the first.
  uint32_t committed = entry.committed.load(std::memory_order_acquire);
  uint32_t reserved = entry.reserved.load(std::memory_order_acquire);
  uint32_t chunk_bytes = file_.shape().chunk_bytes;
  return {.epoch = static_cast<uint32_t>(word >> 32),
          .state = state,
          .tid = entry.owner_tid.load(std::memory_order_relaxed),  // stored before the state
          .limit = whole_words(std::min(reserved, chunk_bytes)),
          .complete = state == pool::kSealed || committed == reserved,
          .overrun = reserved > chunk_bytes};
}

PoolReader::Cursor& PoolReader::cursor_of(uint32_t chunk, uint32_t epoch) {
  Cursor& cursor = cursors_[chunk];
  if (cursor.epoch == epoch) return cursor;
  const ChunkEntry& entry = file_.entry(chunk);
  cursor = {.epoch = epoch};
  if (entry.reader_epoch.load(std::memory_order_acquire) == epoch) {
    uint32_t acknowledged = entry.acknowledged.load(std::memory_order_relaxed);
    cursor.acknowledged = std::min(whole_words(acknowledged), file_.shape().chunk_bytes);
  }
  return cursor;
}

bool PoolReader::has_unread(uint64_t bytes) {
  uint64_t unread = 0;
  for (uint32_t chunk = 0; chunk < file_.chunks_used() && unread < bytes; ++chunk) {
    const Look look = look_at(chunk);
    if (look.epoch != 0) unread += look.limit - std::min(look.limit, cursor_of(chunk, look.epoch).acknowledged);
  }
  return unread >= bytes;
}

Collected PoolReader::collect(SpanSink& sink, uint64_t most_bytes, bool ended) {
  assert(!under_way_);
  ranges_.clear();
  Collected collected;
  uint32_t used = file_.chunks_used();
  uint32_t visited = 0;
  for (; visited < used && collected.read_bytes < most_bytes; ++visited) {
    if (next_chunk_ >= used) next_chunk_ = 0;
    visit(next_chunk_++, sink, ended, collected);
  }
  collected.full = visited < used;
  collected.empty = !collected.full && collected.read_bytes == 0;
  if (collected.spans == 0 && !ranges_.empty()) apply();
  return collected;
}

void PoolReader::visit(uint32_t chunk, SpanSink& sink, bool ended, Collected& collected) {
  Look look = look_at(chunk);
  if (look.epoch == 0) return;
  Range range{chunk, look.epoch, cursor_of(chunk, look.epoch).acknowledged, look.limit, look.tid};
  if (range.begin >= range.end) return free_if_done(chunk);
  bool all = look.state == pool::kSealed || ended;
  collected.read_bytes += range.end - range.begin;
  if (!all) range.end = read_finished(range, look);
  if (range.begin == range.end) return;
  if (all || !look.complete) file_.read_chunk(chunk, range.begin, range.end, chunk_copy());
  ranges_.push_back(range);
  pass_on(range, !look.overrun, sink, collected);
}

// The end of those records of a living program that are finished, up to the first that is not. When the chunk was seen
// complete before it was copied, the copy is good. Else a word in it may be newer than the bytes behind it, because a
// copy has no order; so it says only how far to read once more.
uint32_t PoolReader::read_finished(const Range& range, const Look& look) {
  size_t bytes = file_.read_chunk(range.chunk, range.begin, range.end, chunk_copy());
  Walked walked = walk({chunk_copy(), bytes}, look.epoch, false, [](std::string_view, uint8_t) {});
  std::atomic_thread_fence(std::memory_order_acquire);
  return range.begin + walked.end;
}

// The range's copy, record by record.
void PoolReader::pass_on(const Range& range, bool last_gap_counts, SpanSink& sink, Collected& collected) {
  Walked walked =
      walk({chunk_copy(), range.end - range.begin}, range.epoch, true,
           [&](std::string_view record, uint8_t type) { take_record(range, record, type, sink, collected); });
  // Where a reservation failed at the chunk's end, what is behind the last record was never anybody's.
  if (walked.in_gap && !last_gap_counts) --walked.gaps;
  losses_.unfinished_spans.add(walked.gaps);
}

void PoolReader::take_record(const Range& range, std::string_view record, uint8_t type, SpanSink& sink,
                             Collected& collected) {
  SpanRecordView span;
  span.tid = range.tid;
  if (type != static_cast<uint8_t>(pool::RecordType::kSpan)) {
    losses_.unknown_records.add();
  } else if (read_span(record, span) && sink.span(span)) {
    ++collected.spans;
  } else {
    losses_.malformed_spans.add();
  }
}

Collected PoolReader::collect_again(SpanSink& sink) {
  assert(resumes_);
  resumes_ = false;
  Collected collected;
  for (const Range& range : ranges_) {
    collected.read_bytes += file_.read_chunk(range.chunk, range.begin, range.end, chunk_copy());
    pass_on(range, true, sink, collected);
  }
  return collected;
}

// ---- the journal ----------------------------------------------------------------------------------------------------

void PoolReader::own_marks(const Range& range) {
  ChunkEntry& entry = file_.entry(range.chunk);
  if (entry.reader_epoch.load(std::memory_order_relaxed) == range.epoch) return;
  step();
  entry.acknowledged.store(0, std::memory_order_relaxed);
  step();
  entry.sending.store(0, std::memory_order_relaxed);
  step();
  entry.reader_epoch.store(range.epoch, std::memory_order_release);
}

void PoolReader::begin() {
  assert(!under_way_ && !ranges_.empty());
  for (const Range& range : ranges_) {
    own_marks(range);
    step();
    file_.entry(range.chunk).sending.store(range.end, std::memory_order_relaxed);
  }
  step();
  file_.header().batch_sequence.store(++sequence_, std::memory_order_release);
  under_way_ = true;
}

void PoolReader::acknowledge() {
  assert(under_way_);
  step();
  file_.header().acknowledged_sequence.store(sequence_, std::memory_order_release);
  apply();
  step();
  file_.header().applied_sequence.store(sequence_, std::memory_order_release);
  under_way_ = false;
  resumes_ = false;
}

void PoolReader::apply() {
  for (const Range& range : ranges_) {
    ChunkEntry& entry = file_.entry(range.chunk);
    own_marks(range);
    cursors_[range.chunk] = {range.epoch, range.end};
    step();
    entry.sending.store(range.end, std::memory_order_relaxed);
    step();
    entry.acknowledged.store(range.end, std::memory_order_release);
    free_if_done(range.chunk);
  }
  ranges_.clear();
}

void PoolReader::free_if_done(uint32_t chunk) {
  Look look = look_at(chunk);
  if (look.state != pool::kSealed || cursor_of(chunk, look.epoch).acknowledged < look.limit) return;
  uint64_t sealed = pool::pack_state(look.epoch, pool::kSealed);
  step();
  file_.entry(chunk).state.compare_exchange_strong(sealed, pool::pack_state(look.epoch, pool::kFree),
                                                   std::memory_order_release, std::memory_order_relaxed);
}

// ---- beside the spans -----------------------------------------------------------------------------------------------

std::optional<std::string> PoolReader::new_resource(bool ended) {
  const pool::Header& header = file_.header();
  uint64_t word = header.resource.load(std::memory_order_acquire);
  bool being_written = (word >> 32) % 2 != 0;
  if (word == seen_resource_ || (being_written && !ended)) return std::nullopt;
  std::string text = file_.read_resource(static_cast<uint32_t>(word));
  std::atomic_thread_fence(std::memory_order_acquire);
  if (header.resource.load(std::memory_order_relaxed) != word) return std::nullopt;  // next time
  seen_resource_ = word;
  return text;
}

void PoolReader::count_losses(uint64_t now_monotonic_nano) {
  const pool::Header& header = file_.header();
  marks_.count(header.losses, header.counted_losses, now_monotonic_nano,
               [this](uint32_t loss, uint64_t lost, uint64_t most) { losses_.add_of_program(loss, lost, most); });
}

void PoolReader::mark_told(const LossCounts& told) {
  marks_.mark_told(told, file_.header().counted_losses);
}

}  // namespace fathom::agent
