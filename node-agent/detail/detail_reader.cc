#include "node-agent/detail/detail_reader.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>

namespace fathom::agent {

namespace {

bool has_records(pool::DetailState state) {
  return state != pool::kDetailFree;
}

// The first copy of an open chunk. A snapshot is one thread's, and all its chunks use the same: it stays in the nearest
// cache.
char* first_copy() {
  static thread_local const std::unique_ptr<char[]> kCopy = std::make_unique<char[]>(pool::kLargeBytes);
  return kCopy.get();
}

// Space that signal handlers reserved within one another, each for the longest record, and have not written to yet.
constexpr uint32_t kMostGapBytes = 4 * pool::kMostEventBytes;

constexpr const char* kWriterLosses[] = {"no_chunk", "no_pool", "discarded", "cut_texts", "tracepoints"};

}  // namespace

std::vector<std::pair<std::string, uint64_t>> SnapshotLosses::list() const {
  std::vector<std::pair<std::string, uint64_t>> list{{"overwritten_chunks", overwritten_chunks},
                                                     {"over_budget_chunks", over_budget_chunks},
                                                     {"over_budget_bytes", over_budget_bytes},
                                                     {"unreadable_chunks", unreadable_chunks}};
  for (uint32_t loss = 0; loss < writer.size(); ++loss) {
    list.emplace_back(loss < std::size(kWriterLosses) ? kWriterLosses[loss] : "unknown_" + std::to_string(loss),
                      writer[loss]);
  }
  std::erase_if(list, [](const auto& entry) { return entry.second == 0; });
  return list;
}

// ---- one snapshot ---------------------------------------------------------------------------------------------------

class DetailReader::Copying {
 public:
  Copying(DetailReader& reader, DetailSnapshot& snapshot, uint64_t budget_bytes)
      : reader_(reader),
        snapshot_(snapshot),
        holds_(reader.file_, reader.reader_.load(std::memory_order_relaxed)),
        left_(budget_bytes) {}

  void copy(std::vector<Candidate> candidates);

 private:
  enum class Outcome { kCopied, kNothing, kOverwritten, kUnreadable, kOther };

  void make_memory(const std::vector<Candidate>& candidates);
  void drop_what_is_too_much(std::vector<Candidate>& sealed);
  void count_over_budget(const Candidate& candidate);
  void miss(const Candidate& candidate) {
    snapshot_.missing_until_ticks = std::max(snapshot_.missing_until_ticks, candidate.last_ticks);
  }
  void hold_some(const std::vector<Candidate>& sealed, size_t from);
  void copy_one(const Candidate& candidate);
  Outcome try_copy(const Candidate& candidate);
  Outcome copy_held(const Candidate& candidate);
  Outcome copy_open(const Candidate& candidate);
  struct FirstCopy {
    bool complete = true;
    uint32_t bytes = 0;  // that settle() needs; the second copy needs no more
  };
  FirstCopy copy_first(const Candidate& candidate, uint32_t offset) const;
  // Where in the chunk to begin to read.
  ChunkMarks::Mark begin_of(const Candidate& candidate) const;
  ChunkView view_of(const Candidate& candidate, const ChunkMarks::Mark& begin, uint64_t last_ticks,
                    uint32_t bytes) const;
  void keep(const Candidate& candidate, const ChunkView& view, uint32_t offset, bool open);

  DetailReader& reader_;
  DetailSnapshot& snapshot_;
  ChunkHolds holds_;
  uint64_t left_;
  char* to_ = nullptr;
  size_t ahead_ = 0;  // of the sealed ones: those before were held or passed by
};

void DetailReader::Copying::make_memory(const std::vector<Candidate>& candidates) {
  uint64_t bytes = 0;
  for (const Candidate& candidate : candidates) bytes += candidate.bytes;
  snapshot_.memory = std::make_unique_for_overwrite<char[]>(std::min(bytes, left_));
  to_ = snapshot_.memory.get();
}

void DetailReader::Copying::count_over_budget(const Candidate& candidate) {
  ++snapshot_.losses.over_budget_chunks;
  snapshot_.losses.over_budget_bytes += candidate.bytes;
  miss(candidate);
}

// From the old end.
void DetailReader::Copying::drop_what_is_too_much(std::vector<Candidate>& sealed) {
  uint64_t room = left_;
  size_t kept = 0;
  while (kept < sealed.size() && sealed[sealed.size() - 1 - kept].bytes <= room) {
    room -= sealed[sealed.size() - 1 - kept].bytes;
    ++kept;
  }
  auto first_kept = sealed.end() - static_cast<ptrdiff_t>(kept);
  std::for_each(sealed.begin(), first_kept, [&](const Candidate& candidate) { count_over_budget(candidate); });
  sealed.erase(sealed.begin(), first_kept);
}

// Open chunks are the youngest, and what is in them is known only when they are copied: they come first. Then the
// oldest, because these are next to be overwritten.
void DetailReader::Copying::copy(std::vector<Candidate> candidates) {
  make_memory(candidates);
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::pair(a.last_ticks, a.first_ticks) < std::pair(b.last_ticks, b.first_ticks);
  });
  while (!candidates.empty() && candidates.back().last_ticks == UINT64_MAX) {
    candidates.back().bytes <= left_ ? copy_one(candidates.back()) : count_over_budget(candidates.back());
    candidates.pop_back();
  }
  drop_what_is_too_much(candidates);
  for (size_t i = 0; i < candidates.size(); ++i) {
    hold_some(candidates, i);
    copy_one(candidates[i]);
  }
}

// As many as the rules allow; those that are passed by are held when it is their turn.
void DetailReader::Copying::hold_some(const std::vector<Candidate>& sealed, size_t from) {
  for (ahead_ = std::max(ahead_, from); ahead_ < sealed.size(); ++ahead_) {
    const Candidate& candidate = sealed[ahead_];
    if (!holds_.has_room(candidate.number)) return;
    reader_.step();
    holds_.hold_ahead(candidate.number, candidate.epoch);
  }
}

void DetailReader::Copying::copy_one(const Candidate& candidate) {
  Outcome outcome = Outcome::kOther;
  for (int i = 0; i < kMostTries && outcome == Outcome::kOther; ++i) outcome = try_copy(candidate);
  if (outcome == Outcome::kOverwritten) ++snapshot_.losses.overwritten_chunks;
  if (outcome != Outcome::kUnreadable && outcome != Outcome::kOther) return;
  ++snapshot_.losses.unreadable_chunks;
  miss(candidate);
}

// A chunk that was sealed may be open again, when another thread goes on in it, and the other way round.
DetailReader::Copying::Outcome DetailReader::Copying::try_copy(const Candidate& candidate) {
  reader_.step();
  if (holds_.holds(candidate.number) || holds_.hold_now(candidate.number, candidate.epoch)) {
    return copy_held(candidate);
  }
  reader_.step();
  uint64_t state = reader_.file_.entry(candidate.number).state.load(std::memory_order_acquire);
  if (pool::epoch_of(state) != candidate.epoch || !has_records(pool::state_of(state))) return Outcome::kOverwritten;
  return pool::state_of(state) == pool::kDetailOwned ? copy_open(candidate) : Outcome::kOther;
}

ChunkMarks::Mark DetailReader::Copying::begin_of(const Candidate& candidate) const {
  const ChunkMarks::Mark* mark = reader_.marks_.find(candidate.number, candidate.epoch, snapshot_.window.begin_ticks);
  if (mark != nullptr && mark->offset < candidate.bytes) return *mark;
  const pool::DetailEntry& entry = reader_.file_.entry(candidate.number);
  ChunkMarks::Mark begin;
  begin.state.ticks = entry.first_ticks.load(std::memory_order_relaxed);
  begin.state.tid = entry.owner_tid.load(std::memory_order_relaxed);
  return begin;
}

ChunkView DetailReader::Copying::view_of(const Candidate& candidate, const ChunkMarks::Mark& begin, uint64_t last_ticks,
                                         uint32_t bytes) const {
  ChunkView view{.bytes = {to_, bytes}, .epoch = candidate.epoch, .last_ticks = last_ticks};
  begin.state.apply_to(view);
  return view;
}

void DetailReader::Copying::keep(const Candidate& candidate, const ChunkView& view, uint32_t offset, bool open) {
  snapshot_.chunks.push_back({candidate.number, open, view});
  // A sealed chunk is of a busy thread, mostly: walking all its records now would take longer than skipping them saves.
  if (open) reader_.marks_.extend(candidate.number, view, offset, snapshot_.window.now_ticks);
  to_ += view.bytes.size();
  left_ -= view.bytes.size();
}

DetailReader::Copying::Outcome DetailReader::Copying::copy_held(const Candidate& candidate) {
  const pool::DetailEntry& entry = reader_.file_.entry(candidate.number);
  uint32_t used = entry.used.load(std::memory_order_relaxed);
  const uint32_t end = std::min(used, candidate.bytes);
  ChunkMarks::Mark begin = begin_of(candidate);
  begin.offset = std::min(begin.offset, end);
  const uint32_t bytes = end - begin.offset;
  const ChunkView view = view_of(candidate, begin, entry.last_ticks.load(std::memory_order_relaxed), bytes);
  reader_.step();
  bool complete = reader_.file_.read_chunk(candidate.number, begin.offset, to_, bytes);
  // What came behind what was chosen is left for the next one who asks.
  bool free = reader_.file_.shape().mode == pool::DetailMode::kDiscard && complete && used <= end;
  reader_.step();
  if (!holds_.give_back(candidate.number, free)) return Outcome::kOverwritten;
  if (!complete) return Outcome::kUnreadable;
  if (bytes == 0) return Outcome::kNothing;
  keep(candidate, view, begin.offset, false);
  return Outcome::kCopied;
}

// Most open chunks are nearly empty, so they are read in pieces, until there is no record for longer than a gap can be.
DetailReader::Copying::FirstCopy DetailReader::Copying::copy_first(const Candidate& candidate, uint32_t offset) const {
  const uint32_t most_bytes = candidate.bytes - offset;
  FirstCopy first;
  for (uint32_t read = 0; read < most_bytes && read < first.bytes + kMostGapBytes;) {
    const uint32_t bytes = std::min(kMostGapBytes, most_bytes - read);
    const bool complete = reader_.file_.read_chunk(candidate.number, offset + read, first_copy() + read, bytes);
    first.complete = complete && first.complete;
    read += bytes;
    first.bytes = static_cast<uint32_t>(bytes_with_epoch({first_copy(), read}, candidate.epoch));
  }
  return first;
}

DetailReader::Copying::Outcome DetailReader::Copying::copy_open(const Candidate& candidate) {
  const DetailFile& file = reader_.file_;
  const ChunkMarks::Mark begin = begin_of(candidate);
  const FirstCopy first = copy_first(candidate, begin.offset);
  std::atomic_thread_fence(std::memory_order_acquire);
  reader_.step();
  const uint32_t bytes = first.bytes;
  const bool complete = file.read_chunk(candidate.number, begin.offset, to_, bytes) && first.complete;
  ChunkView view = view_of(candidate, begin, snapshot_.window.now_ticks, bytes);
  std::atomic_thread_fence(std::memory_order_acquire);
  reader_.step();
  uint64_t state = file.entry(candidate.number).state.load(std::memory_order_relaxed);
  if (pool::epoch_of(state) != candidate.epoch || !has_records(pool::state_of(state))) return Outcome::kOverwritten;
  if (!complete) return Outcome::kUnreadable;
  size_t end = settle({first_copy(), bytes}, to_, view);
  if (end == 0) return Outcome::kNothing;
  view.bytes = view.bytes.substr(0, end);
  keep(candidate, view, begin.offset, true);
  return Outcome::kCopied;
}

// ---- what to copy ---------------------------------------------------------------------------------------------------

DetailReader::DetailReader(DetailFile file, std::function<void()> step)
    : file_(std::move(file)),
      marks_(file_.shape().chunks()),
      reader_(file_.header().reader.load(std::memory_order_acquire) & pool::kReaderMask),
      step_(std::move(step)) {}

// The time of a chunk is a hint: of one that was just claimed it may still be that of the epoch before, which only
// makes it look longer.
bool DetailReader::look_at(uint32_t chunk, const TickWindow& window, Candidate& candidate) const {
  const pool::DetailEntry& entry = file_.entry(chunk);
  step();
  uint64_t state = entry.state.load(std::memory_order_acquire);
  candidate = {.number = chunk,
               .epoch = pool::epoch_of(state),
               .bytes = file_.shape().chunk_bytes(chunk),
               .first_ticks = entry.first_ticks.load(std::memory_order_relaxed),
               .last_ticks = UINT64_MAX};
  if (candidate.epoch == 0 || !has_records(pool::state_of(state))) return false;
  if (candidate.first_ticks > window.end_ticks) return false;
  if (pool::state_of(state) == pool::kDetailOwned) return true;
  candidate.bytes = std::min(candidate.bytes, entry.used.load(std::memory_order_relaxed));
  candidate.last_ticks = std::min(entry.last_ticks.load(std::memory_order_relaxed), UINT64_MAX - 1);
  return candidate.last_ticks >= window.begin_ticks && candidate.bytes != 0;
}

std::vector<DetailReader::Candidate> DetailReader::choose(const TickWindow& window) const {
  std::vector<Candidate> candidates;
  Candidate candidate;
  for (uint32_t chunk = 0; chunk < file_.shape().chunks(); ++chunk) {
    if (look_at(chunk, window, candidate)) candidates.push_back(candidate);
  }
  return candidates;
}

TracepointTable DetailReader::read_table() const {
  std::string first = file_.read_table();
  std::atomic_thread_fence(std::memory_order_acquire);
  return TracepointTable::decode(first, file_.read_table());
}

DetailSnapshot DetailReader::snapshot(const TickWindow& window, uint64_t budget_bytes) {
  DetailSnapshot snapshot{.shape = file_.shape(), .window = window};
  Copying(*this, snapshot, budget_bytes).copy(choose(window));
  // Behind the looks at the chunks' states: what was overwritten before those is in it.
  uint64_t overwritten = file_.header().overwritten_ticks.load(std::memory_order_relaxed);
  snapshot.missing_until_ticks = std::max(snapshot.missing_until_ticks, overwritten);
  // Last: what the records are of was described before they were written.
  snapshot.table = read_table();
  snapshot.losses.writer = file_.losses();
  return snapshot;
}

void DetailReader::begin_connection() {
  reader_.store(file_.header().reader.load(std::memory_order_acquire) & pool::kReaderMask, std::memory_order_relaxed);
}

}  // namespace fathom::agent
