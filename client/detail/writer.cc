#include "client/detail/writer.h"

#include "client/helper.h"
#include "client/process.h"
#include "client/serving.h"
#include "client/signal_context.h"
#include "client/thread.h"

namespace fathom::client::detail {
constinit const fathom_limit no_limit = {uint64_t{1} << 61, 0, 0};
}

// Both by name: programs are compiled against them.
extern "C" {
__thread fathom_writer fathom_writer_v1 = {fathom::client::detail::kNowhere, &fathom::client::detail::no_limit,
                                           fathom::client::detail::kNowhere};
}

namespace fathom::client::detail {

constinit thread_local WriterState writer_state __attribute__((tls_model("initial-exec")));

namespace {

constexpr uint32_t kTries = 16, kTriesWhenStarved = 2;

// A thread's own words, which its signal handlers change too.
std::atomic_ref<uint64_t> cursor() {
  return std::atomic_ref<uint64_t>(fathom_writer_v1.cursor);
}
std::atomic_ref<uint64_t> committed() {
  return std::atomic_ref<uint64_t>(fathom_writer_v1.committed);
}
void commit(uint64_t bytes) {
  committed().fetch_add(bytes, std::memory_order_acq_rel);
}

// Nothing is under way but so many bytes of one's own. In this order: what signal handlers write between the two looks
// can only make it look otherwise.
bool is_quiet(uint64_t own_bytes = 0) {
  const uint64_t done = committed().load(std::memory_order_relaxed);
  signal_fence();
  return cursor().load(std::memory_order_relaxed) == done + own_bytes;
}

// The chunk of a reservation that succeeded; null when it missed.
Limit* limit_for(const View& view, uint64_t at, uint32_t bytes) {
  const uint32_t number = view.number_of(at);
  if (number == ~0U) return nullptr;
  Limit& limit = view.limits[number];
  return limit.end != 0 && at >= view.begin_of(number) && at + bytes <= limit.end ? &limit : nullptr;
}

// ---- chunks --------------------------------------------------------------------------------------------------------

void retire(WriterState& thread, const View& view, uint32_t number, uint32_t epoch, uint64_t at) {
  Limit& limit = view.limits[number];
  limit.retired_epoch = epoch;
  const uint64_t used = at - view.begin_of(number);
  limit.used = used < view.bytes_of(number) ? static_cast<uint32_t>(used) : view.bytes_of(number);
  uint32_t first = thread.retired.load(std::memory_order_relaxed);
  do {
    limit.next.store(first, std::memory_order_relaxed);
  } while (!thread.retired.compare_exchange_weak(first, number + 1, std::memory_order_acq_rel));
}

void seal_retired(WriterState& thread, const View& view) {
  uint32_t next = thread.retired.exchange(0, std::memory_order_acq_rel);
  while (next != 0 && next <= view.count()) {
    const uint32_t number = next - 1;
    Limit& limit = view.limits[number];
    next = limit.next.load(std::memory_order_relaxed);  // before another thread can have the chunk
    if (limit.retired_epoch == limit.seen.epoch) seal_chunk(view, number, limit.retired_epoch, limit.used);
  }
}

void seal_when_quiet(WriterState& thread, const View& view, uint64_t own_bytes = 0) {
  if (thread.retired.load(std::memory_order_relaxed) != 0 && is_quiet(own_bytes)) seal_retired(thread, view);
}

// ---- our own records -----------------------------------------------------------------------------------------------

uint64_t put_record(const View& view, uint64_t at, uint32_t epoch, pool::DetailKind kind, uint32_t payload,
                    const void* rest, uint32_t rest_bytes) {
  const uint64_t now = ticks();
  char* to = view.memory(at);
  fathom_begin_record(to, static_cast<uint32_t>(now), static_cast<uint32_t>(now >> 32), kind << 4 | rest_bytes / 8);
  std::memcpy(to + pool::kPayloadOffset, &payload, sizeof payload);
  if (rest_bytes != 0) std::memcpy(to + pool::kLeastRecordBytes, rest, rest_bytes);
  std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(to + pool::kEpochOffset))
      .store(epoch, std::memory_order_release);
  return at + pool::kLeastRecordBytes + rest_bytes;
}

// A reservation of any size that nobody wants.
void put_pad(const View& view, uint64_t at, uint32_t epoch, uint32_t bytes) {
  const bool is_short = bytes <= pool::kShortRecordBytes;
  const uint32_t words = is_short ? (bytes - pool::kLeastRecordBytes) / 8 : pool::kLongWords;
  const uint32_t payload = bytes - pool::kLeastRecordBytes;
  char* to = view.memory(at);
  fathom_begin_record(to, 0, 0, pool::kPad << 4 | words);
  std::memcpy(to + pool::kPayloadOffset, &payload, sizeof payload);
  std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(to + pool::kEpochOffset))
      .store(epoch, std::memory_order_release);
}

constexpr uint32_t kMostSpans = 1 + FATHOM_MOST_SERVED;

// Of records that name so many spans.
uint32_t spans_bytes(uint32_t count) {
  const uint32_t records = count == 0 ? 1 : (count + pool::kSpansInRecord - 1) / pool::kSpansInRecord;
  return records * pool::kLeastRecordBytes + count * static_cast<uint32_t>(sizeof(pool::SpanRef));
}
// Behind them, and behind the owner of a new chunk, there is room for any event.
static_assert(pool::kSmallBytes / 2 >= pool::kMostEventBytes &&
              (kMostSpans / pool::kSpansInRecord + 2) * pool::kLeastRecordBytes + kMostSpans * sizeof(pool::SpanRef) +
                      pool::kMostEventBytes <=
                  pool::kSmallBytes);
static_assert((kMostSpans / pool::kSpansInRecord + 2) * pool::kLeastRecordBytes + kMostSpans * sizeof(pool::SpanRef) <=
              kLeastRoom / 2);

uint64_t put_spans(const View& view, uint64_t at, uint32_t epoch, const CurrentSpans& spans) {
  uint32_t done = 0;
  do {
    const uint32_t left = spans.count - done, count = left < pool::kSpansInRecord ? left : pool::kSpansInRecord;
    at = put_record(view, at, epoch, done == 0 ? pool::kSpans : pool::kMoreSpans, count, spans.refs + done,
                    count * static_cast<uint32_t>(sizeof(pool::SpanRef)));
    done += count;
  } while (done < spans.count);
  return at;
}

// Who writes here, and for which span: readers may see this chunk and no other one of the thread.
uint64_t begin_chunk(const WriterState& thread, const View& view, const Taken& taken, const CurrentSpans& spans) {
  const uint64_t at = put_record(view, taken.cursor, taken.epoch, pool::kOwner, thread.tid, nullptr, 0);
  return spans.count == 0 ? at : put_spans(view, at, taken.epoch, spans);
}

// Unless a signal handler has told something since: then its words are the last ones.
void note_told(WriterState& thread, uint64_t before, uint64_t now) {
  thread.told.compare_exchange_strong(before, now, std::memory_order_relaxed);
}

// ---- changing chunks -----------------------------------------------------------------------------------------------

const fathom_limit* fast_limit(const View& view, uint32_t number) {
  return settings.tsc && number != ~0U ? &view.limits[number].seen : &no_limit;
}

// From where the cursor was seen to a new chunk, or to nowhere; false when a signal handler has moved it meanwhile.
bool move_cursor(WriterState& thread, const View& view, uint64_t before, uint64_t to) {
  const uint32_t number = view.number_of(before);
  const uint32_t epoch = number == ~0U ? 0 : view.limits[number].seen.epoch;
  uint64_t expected = before;
  if (!cursor().compare_exchange_strong(expected, to, std::memory_order_acq_rel)) return false;
  fathom_writer_v1.limit = fast_limit(view, view.number_of(to));
  signal_fence();
  commit(to - before);
  if (epoch != 0) retire(thread, view, number, epoch, before);
  seal_when_quiet(thread, view);
  return true;
}

void give_back(const View& view, const Taken& taken, uint64_t used_to) {
  offer_chunk(view, taken.number, taken.epoch, static_cast<uint32_t>(used_to - view.begin_of(taken.number)));
}

// What is under way in the frames that this one interrupted is still to be committed.
void leave_old_process(WriterState& thread) {
  thread.retired.store(0, std::memory_order_relaxed);
  thread.chunks = 0;
  thread.starved = false;
  thread.told.store(0, std::memory_order_relaxed);
  fathom_writer_v1.limit = &no_limit;
  const uint64_t before = cursor().exchange(kNowhere, std::memory_order_relaxed);
  commit(kNowhere - before);
}

void enter_process(WriterState& thread) {
  if (this_thread.generation != live().generation.load(std::memory_order_relaxed)) enter(this_thread);
  if (likely(thread.generation == this_thread.generation)) return;
  const SignalsBlocked blocked;
  if (thread.generation == this_thread.generation) return;
  leave_old_process(thread);
  thread.tid = this_thread.writer.tid;
  thread.generation = this_thread.generation;
}

// After a fork in a signal handler that interrupted this frame, the pool that it looks at is the parent's.
bool is_stale(const View& view) {
  return current_view().header != view.header;
}

bool take_and_begin(WriterState& thread, const View& view, uint64_t before, const CurrentSpans& spans) {
  Taken taken;
  const Want want = thread.chunks == 0 ? Want::kFirst : Want::kNext;
  if (!take_chunk(view, want, thread.tid, thread.starved ? kTriesWhenStarved : kTries, taken)) return false;
  thread.starved = false;
  thread.chunks++;
  const uint64_t told = thread.told.load(std::memory_order_relaxed);
  const uint64_t begin = begin_chunk(thread, view, taken, spans);
  if (move_cursor(thread, view, before, begin)) {
    note_told(thread, told, spans.id);
  } else {
    give_back(view, taken, begin);
  }
  return true;
}

// False: there is none, and the event is lost. The cursor is looked at before the pool, and the pool again after the
// cursor was moved: a fork before the first look is seen there, one between them by whoever moved the cursor in the
// child, or else here.
bool bring_chunk(WriterState& thread, const View& view, uint32_t bytes, const CurrentSpans& spans) {
  const uint64_t before = cursor().load(std::memory_order_relaxed);
  signal_fence();
  if (is_stale(view)) return true;
  if (limit_for(view, before, bytes) != nullptr) return true;  // a signal handler has brought one
  const bool brought = take_and_begin(thread, view, before, spans);
  if (!brought) {
    thread.starved = true;
    if (view.number_of(before) != ~0U) move_cursor(thread, view, before, kNowhere);
  }
  signal_fence();
  if (!is_stale(view)) return brought;
  enter_process(thread);
  return true;
}

// The fast path may go on in the cursor's chunk, if what is told there is true of the current span. First the limit,
// then the look: a signal handler that changes something later takes the limit away again.
bool open_fast_path(WriterState& thread, const View& view, const CurrentSpans& spans) {
  fathom_writer_v1.limit = fast_limit(view, view.number_of(cursor().load(std::memory_order_relaxed)));
  signal_fence();
  if (thread.told.load(std::memory_order_relaxed) == spans.id) return true;
  note_span_change();
  return false;
}

// A reservation for the record and, before it, for the span that it belongs to: nothing comes between the two, whatever
// signal handlers write meanwhile. Null when it missed.
fathom_place place_with_span(WriterState& thread, const View& view, uint32_t bytes, const CurrentSpans& spans) {
  const uint64_t told = thread.told.load(std::memory_order_relaxed);
  const uint32_t before = spans_bytes(spans.count);
  const uint64_t at = cursor().fetch_add(before + bytes, std::memory_order_acq_rel);
  const Limit* limit = limit_for(view, at, before + bytes);
  if (limit != nullptr) put_spans(view, at, limit->seen.epoch, spans);
  commit(limit == nullptr ? before + bytes : before);
  if (limit == nullptr) return {nullptr, 0};
  note_told(thread, told, spans.id);
  open_fast_path(thread, view, spans);
  return {view.memory(at + before), limit->seen.epoch};
}

// As long as this lives, what the fork of a process leaves to its child is still looked at.
class Inside {
 public:
  explicit Inside(WriterState& thread) : inside_(thread.inside) { inside_.fetch_add(1, std::memory_order_relaxed); }
  ~Inside() { inside_.fetch_sub(1, std::memory_order_relaxed); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  std::atomic<uint32_t>& inside_;
};

fathom_place lost(const View& view) {
  count_loss(view.header == nullptr ? pool::kLostNoPool : view.discard ? pool::kLostDiscarded : pool::kLostNoChunk);
  return {nullptr, 0};
}

// A program that makes no spans has nobody else who asks for it again.
void want_helper_again() {
  if (!helper_is_due()) return;
  const SignalsBlocked blocked;
  want_helper(blocked.before());
}

// One round: a place for what is reserved at `at`, or a chunk in which there will be one.
bool try_to_place(WriterState& thread, uint64_t at, uint32_t bytes, fathom_place& found) {
  enter_process(thread);
  const View view = ensure_view();
  CurrentSpans spans;
  current_spans(this_thread, spans);
  const Limit* limit = limit_for(view, at, bytes);
  found = {limit == nullptr ? nullptr : view.memory(at), limit == nullptr ? 0 : limit->seen.epoch};
  seal_when_quiet(thread, view, bytes);
  if (limit != nullptr && open_fast_path(thread, view, spans)) return true;
  if (limit != nullptr) put_pad(view, at, limit->seen.epoch, bytes);
  commit(bytes);
  if (limit != nullptr) {
    found = place_with_span(thread, view, bytes, spans);
    if (found.at != nullptr) return true;
  }
  if (view.header != nullptr && bring_chunk(thread, view, bytes, spans)) return false;
  found = lost(view);
  return true;
}

}  // namespace

fathom_place place(uint64_t at, uint32_t bytes) {
  const ErrnoKept errno_kept;
  WriterState& thread = writer_state;
  want_helper_again();
  const Inside inside(thread);
  fathom_place found;
  while (!try_to_place(thread, at, bytes, found)) at = cursor().fetch_add(bytes, std::memory_order_acq_rel);
  return found;
}

namespace {

// Where the cursor was when it left, in the chunk or behind its end. Nobody writes there any more, so the epoch is
// looked at now; in the child of a fork it is 0, or the pool another one.
void leave_chunk(const View& view, uint64_t at) {
  const uint32_t number = view.number_of(at);
  if (number == ~0U) return;
  const uint32_t epoch = view.limits[number].seen.epoch;
  const uint64_t reserved = at - view.begin_of(number);
  const uint32_t used = reserved < view.bytes_of(number) ? static_cast<uint32_t>(reserved) : view.bytes_of(number);
  if (!is_stale(view)) offer_chunk(view, number, epoch, used);
}

}  // namespace

// Handlers may write between any two instructions. The exchange takes along what they have reserved up to then,
// whatever chunk it is in; what comes behind it goes to a chunk that they bring, which a later call leaves
// (client/thread.cc). What is under way now, by the distance of cursor and committed, is in frames that never go on: a
// signal handler that interrupted them has ended the thread. So all that was left behind is sealed.
void leave_thread() {
  WriterState& thread = writer_state;
  const Inside inside(thread);
  if (thread.generation != live().generation.load(std::memory_order_relaxed)) return;
  thread.chunks = 0;
  const uint64_t before = cursor().exchange(kNowhere, std::memory_order_acq_rel);
  commit(kNowhere - before);
  const View view = current_view();
  if (view.header == nullptr) return;
  leave_chunk(view, before);
  seal_retired(thread, view);
}

bool nothing_under_way() {
  return writer_state.inside.load(std::memory_order_relaxed) == 0 && is_quiet();
}

}  // namespace fathom::client::detail
