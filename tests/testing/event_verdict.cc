#include "tests/testing/event_verdict.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <vector>

#include "node-agent/detail/event_decoder.h"

namespace fathom::testing {

namespace {

using agent::DetailFile;
using agent::DetailSnapshot;
using client::EventLogEntry;
using client::EventPage;
using client::EventPlace;

using NumbersByThread = std::vector<std::vector<uint64_t>>;

bool is_whole(const agent::EventView& event, uint64_t threads) {
  if (event.tracepoint->name != "numbered" || event.values.size() != 4) return false;
  uint64_t thread = event.values[0].natural;
  std::string_view fill = event.values[2].text;
  return thread < threads && fill.size() == client::fill_bytes(event.values[1].natural) &&
         event.values[3].natural ==
             client::event_sum(static_cast<uint32_t>(thread), event.values[1].natural, fill.data(), fill.size());
}

NumbersByThread collect(const DetailSnapshot& snapshot, uint64_t threads, EventVerdict& verdict) {
  NumbersByThread numbers(threads);
  agent::DecodeCounts counts = agent::decode(snapshot, [&](const agent::EventView& event) {
    if (event.tracepoint->name == "begin") return;
    if (!is_whole(event, threads)) return void(++verdict.torn);
    numbers[event.values[0].natural].push_back(event.values[1].natural);
  });
  verdict.torn += counts.unknown_tracepoints + counts.malformed_payloads + counts.walk.malformed_records;
  verdict.holes += counts.walk.holes;
  for (auto& each : numbers) {
    std::sort(each.begin(), each.end());
    auto end = std::unique(each.begin(), each.end());
    verdict.doubled += static_cast<uint64_t>(each.end() - end);
    each.erase(end, each.end());
  }
  return numbers;
}

// Chunks that begin with a record of their epoch, and are not in the snapshot.
uint64_t missed_chunks(const DetailFile& file, const DetailSnapshot& snapshot) {
  std::set<uint32_t> copied;
  for (const agent::ChunkCopy& chunk : snapshot.chunks) copied.insert(chunk.number);
  uint64_t missed = 0;
  for (uint32_t chunk = 0; chunk < file.shape().chunks(); ++chunk) {
    uint64_t state = file.entry(chunk).state.load();
    char begin[pool::kLeastRecordBytes];
    uint32_t epoch = 0;
    if (pool::state_of(state) == pool::kDetailFree || !file.read_chunk(chunk, 0, begin, sizeof begin)) continue;
    std::memcpy(&epoch, begin + pool::kEpochOffset, sizeof epoch);
    missed += epoch == pool::epoch_of(state) && copied.count(chunk) == 0 ? 1 : 0;
  }
  return missed;
}

// ---- one thread's events, by its log --------------------------------------------------------------------------------

class ThreadJudge {
 public:
  ThreadJudge(const DetailFile& file, const EventPage& page, uint32_t thread, EventVerdict& verdict)
      : file_(file),
        log_(page.log(thread)),
        entries_(page.log_entries),
        started_(page.slots[thread].started.load()),
        finished_(page.slots[thread].finished.load()),
        verdict_(verdict) {}

  void judge(const std::vector<uint64_t>& found) {
    verdict_.committed += finished_;
    verdict_.found += found.size();
    // What is so old that the log has lost it, the pool has lost too: the log has room for twice as many events. But
    // for a thread's first, in its small chunk, which may stay: those are judged in programs that wrote less.
    uint64_t first = started_ > entries_ ? started_ - entries_ : 0;
    auto next = std::lower_bound(found.begin(), found.end(), first);
    verdict_.overwritten += first - static_cast<uint64_t>(next - found.begin());
    for (uint64_t number = first; number < started_; ++number) {
      bool is_found = next != found.end() && *next == number;
      next += is_found ? 1 : 0;
      is_found ? look_at_found(number) : look_at_missing(number);
    }
    verdict_.torn += static_cast<uint64_t>(found.end() - next);  // never begun
    uint64_t may_miss = started_ - finished_;
    verdict_.under_way += std::min(unlogged_, may_miss);
    verdict_.lost += unlogged_ - std::min(unlogged_, may_miss);
  }
  uint64_t under_way() const { return started_ - finished_; }
  // Missing, of those whose place is not sure: the program may have counted them as lost.
  uint64_t unsure() const { return unsure_; }

 private:
  bool was_overwritten(EventPlace place) const {
    if (place.chunk >= file_.shape().chunks()) return false;
    return pool::epoch_of(file_.entry(place.chunk).state.load()) != place.epoch;
  }
  // Where an event surely is. One that changed chunks by itself is in the second: it found no room in the first.
  // Whether it was itself, the next number's event tells, which is the first that may have interrupted it: what that
  // had before it is what this one had behind it. Where a handler changed chunks in the middle of it, nobody knows
  // whether it had its place by then.
  std::optional<EventPlace> sure_place(uint64_t number) const {
    const EventLogEntry& entry = log_[number % entries_];
    const EventLogEntry& next = log_[(number + 1) % entries_];
    bool by_itself = next.is_of(number + 1) && next.before() == entry.after();
    bool sure = entry.before() == entry.after() || by_itself;
    return sure && entry.after().chunk != EventPlace::kNowhere ? std::optional(entry.after()) : std::nullopt;
  }
  void look_at_found(uint64_t number) {
    if (!log_[number % entries_].is_of(number)) return;
    std::optional<EventPlace> place = sure_place(number);
    verdict_.torn += place && was_overwritten(*place) ? 1 : 0;
  }
  void look_at_missing(uint64_t number) {
    const EventLogEntry& entry = log_[number % entries_];
    if (!entry.is_of(number)) return void(++unlogged_);
    if (std::optional<EventPlace> place = sure_place(number)) {
      ++(was_overwritten(*place) ? verdict_.overwritten : verdict_.lost);
    } else {
      // Of one that a handler moved on, the doubt is the pool's: a loss there is not seen while either is overwritten.
      bool may_be_overwritten = was_overwritten(entry.before()) || was_overwritten(entry.after());
      ++(may_be_overwritten ? verdict_.overwritten : unsure_);
    }
  }

  const DetailFile& file_;
  const EventLogEntry* log_;
  const uint64_t entries_, started_, finished_;
  EventVerdict& verdict_;
  uint64_t unlogged_ = 0, unsure_ = 0;
};

}  // namespace

EventVerdict judge(const DetailFile& file, const DetailSnapshot& snapshot, const EventPage& page, uint32_t threads) {
  EventVerdict verdict;
  NumbersByThread numbers = collect(snapshot, threads, verdict);
  uint64_t under_way = 0, unsure = 0;
  for (uint32_t thread = 0; thread < threads; ++thread) {
    ThreadJudge judge(file, page, thread, verdict);
    judge.judge(numbers[thread]);
    under_way += judge.under_way();
    unsure += judge.unsure();
  }
  // A dead program's pool is all there.
  for (const auto& [reason, count] : snapshot.losses.list()) {
    if (reason == "no_chunk" || reason == "no_pool") verdict.counted += count;
    if (reason == "overwritten_chunks" || reason == "unreadable_chunks") verdict.lost += count;
  }
  verdict.lost += unsure - std::min(unsure, verdict.counted);
  verdict.lost += missed_chunks(file, snapshot);
  verdict.odd_holes = verdict.holes - std::min(verdict.holes, under_way);
  return verdict;
}

EventVerdict judge_alive(const DetailSnapshot& snapshot, uint32_t threads) {
  EventVerdict all, verdict;
  collect(snapshot, threads, all);
  verdict.torn = all.torn;
  verdict.doubled = all.doubled;
  return verdict;
}

EventVerdict& EventVerdict::operator+=(const EventVerdict& other) {
  for (auto field : {&EventVerdict::committed, &EventVerdict::found, &EventVerdict::overwritten,
                     &EventVerdict::under_way, &EventVerdict::counted, &EventVerdict::lost, &EventVerdict::torn,
                     &EventVerdict::doubled, &EventVerdict::holes, &EventVerdict::odd_holes}) {
    this->*field += other.*field;
  }
  return *this;
}

std::string EventVerdict::text() const {
  return std::to_string(committed) + " committed, " + std::to_string(found) + " found, " + std::to_string(overwritten) +
         " overwritten, " + std::to_string(under_way) + " under way, " + std::to_string(counted) +
         " counted as lost, " + std::to_string(lost) + " lost, " + std::to_string(torn) + " torn, " +
         std::to_string(doubled) + " doubled, " + std::to_string(holes) + " holes (" + std::to_string(odd_holes) +
         " too many)";
}

}  // namespace fathom::testing
