#include "client/detail/recorder.h"

#include "client/process.h"

namespace fathom::client::detail {
namespace {

using pool::DetailEntry;
using pool::pack_detail;

// A reader whose connection has ended holds nothing any more.
bool is_of_past_reader(const View& view, uint64_t state) {
  return pool::reader_of(state) != (view.header->reader.load(std::memory_order_acquire) & pool::kReaderMask);
}

// What was sealed less than half a lap ago is young, however long ago it was claimed: a second chance, of which a
// search that finds nothing else takes no notice.
bool is_young(const DetailEntry& entry, uint32_t ticket, uint32_t chunks) {
  return ticket - entry.sealed_ticket.load(std::memory_order_relaxed) < chunks / 2;
}

bool may_take(const View& view, uint64_t state) {
  switch (pool::state_of(state)) {
    case pool::kDetailFree:
      return true;
    case pool::kDetailSealed:
      return !view.discard;
    case pool::kDetailReading:
      return !view.discard && is_of_past_reader(view, state);
    case pool::kDetailOwned:
      break;
  }
  return false;
}

// Before the claim: who sees it sees this, too. A claim that fails has said too much for once, which is no harm.
void note_overwritten(const View& view, const DetailEntry& entry) {
  std::atomic<uint64_t>& noted = view.header->overwritten_ticks;
  const uint64_t last = entry.last_ticks.load(std::memory_order_relaxed);
  uint64_t known = noted.load(std::memory_order_relaxed);
  while (known < last && !noted.compare_exchange_weak(known, last, std::memory_order_relaxed)) {
  }
}

void set_limit(const View& view, uint32_t number, uint32_t epoch) {
  Limit& limit = view.limits[number];
  limit.end = view.end_of(number);
  limit.seen.epoch = epoch;
  limit.seen.last = limit.end - pool::kShortRecordBytes;
}

// The owner's words are stored behind it, and are hints until then: a reader may see those of the owner before.
bool own(const View& view, uint32_t number, uint64_t state, uint32_t epoch, uint32_t tid) {
  DetailEntry& entry = view.entries[number];
  if (!entry.state.compare_exchange_strong(state, pack_detail(epoch, pool::kDetailOwned), std::memory_order_acq_rel)) {
    return false;
  }
  entry.owner_tid.store(tid, std::memory_order_relaxed);
  return true;
}

bool make_chunk_present(const View& view, uint32_t number) {
  Limit& limit = view.limits[number];
  if (limit.present != 0) return true;
  const ErrnoKept errno_kept;
  if (!populate(view.memory(view.begin_of(number)), view.bytes_of(number))) return false;
  limit.present = 1;
  return true;
}

bool take_one(const View& view, uint32_t first, uint32_t chunks, std::atomic<uint32_t>& tickets, bool patient,
              uint32_t tid, Taken& taken) {
  const uint32_t ticket = tickets.fetch_add(1, std::memory_order_relaxed);
  const uint32_t number = first + ticket % chunks;
  DetailEntry& entry = view.entries[number];
  const uint64_t state = entry.state.load(std::memory_order_acquire);
  if (!may_take(view, state)) return false;
  if (patient && pool::state_of(state) != pool::kDetailFree && is_young(entry, ticket, chunks)) return false;
  if (pool::state_of(state) != pool::kDetailFree) note_overwritten(view, entry);
  const uint32_t epoch = pool::epoch_of_ticket(ticket);
  if (!own(view, number, state, epoch, tid)) return false;
  // Another thread may have gone on in it between, and sealed it again: in the same epoch, and younger.
  if (pool::state_of(state) != pool::kDetailFree) note_overwritten(view, entry);
  if (!make_chunk_present(view, number)) {
    uint64_t owned = pack_detail(epoch, pool::kDetailOwned);
    entry.state.compare_exchange_strong(owned, pack_detail(epoch, pool::kDetailFree), std::memory_order_release);
    return false;
  }
  entry.first_ticks.store(ticks(), std::memory_order_relaxed);
  set_limit(view, number, epoch);
  taken = {number, epoch, view.begin_of(number)};
  return true;
}

bool take_of(const View& view, bool small, uint32_t tid, uint32_t tries, Taken& taken) {
  const uint32_t first = small ? view.large : 0, chunks = small ? view.small : view.large;
  if (chunks == 0) return false;
  std::atomic<uint32_t>& tickets = small ? view.header->small_ticket : view.header->large_ticket;
  for (uint32_t i = 0; i < tries; i++) {
    if (take_one(view, first, chunks, tickets, i < tries / 2, tid, taken)) return true;
  }
  return false;
}

bool go_on_in(const View& view, uint32_t number, uint32_t epoch, uint32_t tid, Taken& taken) {
  if (!own(view, number, pack_detail(epoch, pool::kDetailSealed), epoch, tid)) return false;
  set_limit(view, number, epoch);
  taken = {number, epoch, view.begin_of(number) + view.limits[number].used};
  return true;
}

// Who clears the bit looks at the chunk, and who takes the epoch has the offer: no one is taken twice. It is void when
// the chunk was claimed since.
bool adopt_of(const View& view, uint32_t word, uint32_t tid, Taken& taken) {
  std::atomic<uint64_t>& offers = view.offers[word];
  for (uint64_t bits = offers.load(std::memory_order_relaxed); bits != 0; bits &= bits - 1) {
    const uint64_t bit = bits & (~bits + 1);
    if ((offers.fetch_and(~bit, std::memory_order_acquire) & bit) == 0) continue;
    const uint32_t number = word * 64 + static_cast<uint32_t>(__builtin_ctzll(bit));
    const uint32_t epoch = view.limits[number].offered.exchange(0, std::memory_order_acquire);
    if (epoch != 0 && go_on_in(view, number, epoch, tid, taken)) return true;
  }
  return false;
}

// Large ones first: in those there is room for many.
bool adopt(const View& view, uint32_t tid, Taken& taken) {
  for (uint32_t word = 0; word * 64 < view.count(); word++) {
    if (adopt_of(view, word, tid, taken)) return true;
  }
  return false;
}

}  // namespace

bool take_chunk(const View& view, Want want, uint32_t tid, uint32_t tries, Taken& taken) {
  if (want == Want::kFirst && (adopt(view, tid, taken) || take_of(view, true, tid, tries, taken))) return true;
  return take_of(view, false, tid, tries, taken);
}

bool seal_chunk(const View& view, uint32_t number, uint32_t epoch, uint32_t used) {
  DetailEntry& entry = view.entries[number];
  // Only what this process owns in this epoch: a fork in the middle may have made the number mean another chunk.
  uint64_t owned = pack_detail(epoch, pool::kDetailOwned);
  if (entry.state.load(std::memory_order_relaxed) != owned) return false;
  const bool small = number >= view.large;
  const std::atomic<uint32_t>& tickets = small ? view.header->small_ticket : view.header->large_ticket;
  entry.used.store(used, std::memory_order_relaxed);
  entry.sealed_ticket.store(tickets.load(std::memory_order_relaxed), std::memory_order_relaxed);
  entry.last_ticks.store(ticks(), std::memory_order_relaxed);
  return entry.state.compare_exchange_strong(owned, pack_detail(epoch, pool::kDetailSealed), std::memory_order_release);
}

void offer_chunk(const View& view, uint32_t number, uint32_t epoch, uint32_t used) {
  Limit& limit = view.limits[number];
  limit.used = used;
  if (!seal_chunk(view, number, epoch, used) || used + kLeastRoom > view.bytes_of(number)) return;
  limit.offered.store(epoch, std::memory_order_release);
  view.offers[number / 64].fetch_or(uint64_t{1} << number % 64, std::memory_order_release);
}

void count_loss(pool::DetailLoss loss, uint64_t count) {
  const View view = current_view();
  (view.header == nullptr ? live().recorder.losses : view.header->losses)[loss].fetch_add(count,
                                                                                          std::memory_order_relaxed);
}

uint64_t lost_events() {
  const View view = current_view();
  uint64_t lost = 0;
  for (const pool::DetailLoss loss : {pool::kLostNoChunk, pool::kLostNoPool, pool::kLostDiscarded}) {
    lost += live().recorder.losses[loss].load(std::memory_order_relaxed);
    if (view.header != nullptr) lost += view.header->losses[loss].load(std::memory_order_relaxed);
  }
  return lost;
}

}  // namespace fathom::client::detail
