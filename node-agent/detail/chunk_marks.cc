#include "node-agent/detail/chunk_marks.h"

#include <algorithm>

namespace fathom::agent {

namespace {

// Records have 48 bits of ticks. After a silence of as long as these last, the ticks of a walk may be those of a day
// before; the ticks of a younger record are right.
constexpr uint64_t kMostAgeTicks = uint64_t{1} << 47;

bool is_certain(uint64_t ticks, uint64_t now_ticks) {
  return now_ticks != UINT64_MAX && ticks + kMostAgeTicks > now_ticks;
}

// The part of the view behind the mark.
ChunkView rest_of(const ChunkView& view, const ChunkMarks::Mark& mark, uint32_t offset) {
  ChunkView rest = view;
  rest.bytes = view.bytes.substr(mark.offset - offset);
  rest.asked_from_ticks = 0;
  mark.state.apply_to(rest);
  return rest;
}

}  // namespace

const ChunkMarks::Mark* ChunkMarks::find(uint32_t chunk, uint32_t epoch, uint64_t from_ticks) const {
  const Chunk& known = chunks_[chunk];
  if (known.epoch != epoch) return nullptr;
  const auto behind = std::ranges::lower_bound(known.marks, from_ticks, {}, &Mark::latest_ticks);
  return behind == known.marks.begin() ? nullptr : &*std::prev(behind);
}

void ChunkMarks::extend(uint32_t chunk, const ChunkView& view, uint32_t offset, uint64_t now_ticks) {
  Chunk& known = chunks_[chunk];
  if (known.epoch != view.epoch) known = {.epoch = view.epoch};
  Mark mark{.offset = offset, .state = WalkState::at_begin_of(view)};
  if (!known.marks.empty()) mark = known.marks.back();
  if (mark.offset < offset || mark.offset - offset > view.bytes.size()) return;
  const uint32_t begin = mark.offset;
  uint32_t marked = begin;
  RecordWalk walk(rest_of(view, mark, offset));
  DetailRecord record;
  while (walk.next(record) && walk.counts().holes == 0 && is_certain(record.ticks, now_ticks)) {
    mark.latest_ticks = std::max(mark.latest_ticks, record.ticks);
    mark.offset = begin + static_cast<uint32_t>(walk.end());
    if (mark.offset - marked < kEveryBytes) continue;
    mark.state = walk.state();
    marked = mark.offset;
    known.marks.push_back(mark);
  }
}

}  // namespace fathom::agent
