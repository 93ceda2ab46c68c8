#include "query/timeline/wait_sums.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

namespace fathom::query {

namespace {

constexpr size_t kMostKinds = 1'000;
constexpr uint64_t kVisitsOfState = 16;
constexpr uint64_t kLeastVisits = 1'000;

enum class Ender : uint8_t { kNotKnown, kInterrupt, kThread };

Ender ender_of(const StateInterval& wait) {
  if (wait.waker == nullptr) return Ender::kNotKnown;
  return wait.waker->other_tid == 0 ? Ender::kInterrupt : Ender::kThread;
}

class Kinds {
 public:
  void add(StateInterval wait, std::string_view in) {
    if (!is_blocked(wait.state)) {
      wait.waker = nullptr;  // of a wait for a processor, the waker is the thread that made it runnable
      in = {};
    }
    WaitSum* sum = sum_of(wait, in);
    if (sum == nullptr) {
      ++all_.more_count;
      all_.more_nano += wait.duration_nano();
      return;
    }
    ++sum->count;
    sum->total_nano += wait.duration_nano();
    if (wait.guessed) sum->guessed_nano += wait.duration_nano();
    if (sum->count == 1 || wait.duration_nano() > sum->longest.duration_nano()) sum->longest = wait;
  }

  WaitSums take() {
    std::ranges::stable_sort(all_.sums, std::ranges::greater(), &WaitSum::total_nano);
    all_.keep(kMostWaitSums);
    return std::move(all_);
  }

 private:
  using Kind = std::tuple<ThreadState, RunnableCause, std::string_view, Ender, int32_t, int32_t>;

  static Kind kind_of(const StateInterval& wait, std::string_view in) {
    const Ender ender = ender_of(wait);
    const bool by_thread = ender == Ender::kThread;
    return {wait.state,
            wait.cause,
            in,
            ender,
            by_thread ? wait.waker->other_pid : 0,
            by_thread ? wait.waker->other_tid : 0};
  }

  // Null: the limit of kinds is reached.
  WaitSum* sum_of(const StateInterval& wait, std::string_view in) {
    const Kind kind = kind_of(wait, in);
    auto place = places_.find(kind);
    if (place != places_.end()) return &all_.sums[place->second];
    if (places_.size() == kMostKinds) return nullptr;
    places_.emplace(kind, all_.sums.size());
    return &all_.sums.emplace_back(WaitSum{.longest = wait, .in = in});
  }

  std::map<Kind, size_t> places_;
  WaitSums all_;
};

}  // namespace

void WaitSums::keep(size_t most) {
  for (size_t i = most; i < sums.size(); ++i) {
    more_count += sums[i].count;
    more_nano += sums[i].total_nano;
  }
  if (sums.size() > most) sums.resize(most);
}

WaitSummer::WaitSummer(const StateIndex& index, std::span<const std::string_view> in, Meter& meter)
    : index_(index), in_(in), meter_(meter), steps_left_(kVisitsOfState * in.size() + kLeastVisits) {}

WaitSums WaitSummer::sums(uint64_t begin_nano, uint64_t end_nano) {
  const uint64_t steps = index_.count(begin_nano, end_nano);
  if (steps > steps_left_) return {.left_out = true};
  steps_left_ -= steps;
  if (!meter_.step(steps)) return {};
  Kinds kinds;
  index_.each(begin_nano, end_nano, [&](const StateInterval& state, size_t number) {
    if (is_wait(state.state)) kinds.add(state, in_[number]);
  });
  WaitSums sums = kinds.take();
  meter_.spend(sums.sums.size() * sizeof(WaitSum));
  return sums;
}

}  // namespace fathom::query
