#include "snapshot/decode/whereabouts.h"

#include "snapshot/decode/code_names.h"

namespace fathom::snapshot {
namespace {

constexpr size_t kMostSwitchesLookedAt = 64;

template <typename T>
size_t first_at(const std::vector<T>& rows, uint64_t tsc) {
  auto found =
      std::lower_bound(rows.begin(), rows.end(), tsc, [](const T& row, uint64_t wanted) { return row.tsc < wanted; });
  return static_cast<size_t>(found - rows.begin());
}

template <typename T>
uint64_t time_of(const std::vector<T>& rows, size_t at) {
  return at < rows.size() ? rows[at].tsc : UINT64_MAX;
}

}  // namespace

Whereabouts::Whereabouts(const StreamPart& part, const ThreadHistory& history, const MemoryMap& map,
                         AddressSpaces& spaces, FlowWriter& out, bool guests_apart)
    : part_(part),
      history_(history),
      map_(map),
      spaces_(spaces),
      out_(out),
      guests_apart_(guests_apart),
      now_(part.first_tsc) {
  next_loss_ = part.first ? 0 : first_at(history.losses, part.first_tsc);
  end_loss_ = part.last ? history.losses.size() : first_at(history.losses, part.end_tsc);
  end_loss_ = std::max(end_loss_, next_loss_);
  next_program_ = part.first ? 0 : first_at(history.programs, part.first_tsc);
  end_program_ = part.last ? history.programs.size() : first_at(history.programs, part.end_tsc);
  end_program_ = std::max(end_program_, next_program_);
  thread_ = history.at(now_);
  while (next_switch_ < history.switches.size() && history.switches[next_switch_].tsc <= now_) ++next_switch_;
}

void Whereabouts::begin() {
  out_.put(thread_item(thread_.pid, thread_.tid, now_));
  enter(now_);
}

void Whereabouts::end() {
  pass_losses(UINT64_MAX);
}

void Whereabouts::segment(uint64_t first, uint64_t last) {
  last_ = std::max(now_, std::min(last, part_.end_tsc));
  guest(false);
  advance(first);
}

bool Whereabouts::guest(bool runs) {
  if (guest_ == runs || !guests_apart_) return false;
  guest_ = runs;
  enter(now_);
  return true;
}

bool Whereabouts::change() {
  pass_losses(now_);
  const auto& switches = history_.switches;
  const RunningThread before = thread_;
  if (next_switch_ < switches.size()) pass_programs(std::min(now_, switches[next_switch_].tsc));
  while (next_switch_ < switches.size() && switches[next_switch_].tsc <= now_) thread_ = switches[next_switch_++].to;
  if (thread_ != before) out_.put(thread_item(thread_.pid, thread_.tid, now_));
  pass_programs(now_);
  enter(now_);
  return true;
}

void Whereabouts::pass_losses(uint64_t until) {
  for (; next_loss_ < end_loss_ && history_.losses[next_loss_].tsc <= until; ++next_loss_) {
    const RecordedLoss& loss = history_.losses[next_loss_];
    out_.gap(loss.reason, 0, now_, loss.cause);
  }
}

// Other processes' are passed too, and concern nobody here.
void Whereabouts::pass_programs(uint64_t until) {
  for (; next_program_ < end_program_ && history_.programs[next_program_].tsc <= until; ++next_program_) {
    if (history_.programs[next_program_].to.pid != thread_.pid) continue;
    FlowItem item;
    item.kind = FlowKind::kProgram;
    item.tsc = now_;
    out_.put(item);
  }
}

void Whereabouts::look_for_program(uint64_t ip) {
  const ThreadSwitch& next = history_.programs[next_program_];
  if (guest_ || next.to.pid != thread_.pid || known(ip)) return;
  const auto later = map_.later_space(thread_.pid, now_, ip);
  if (later && later->until > next.tsc) pass_programs(next.tsc);
}

void Whereabouts::enter(uint64_t tsc) {
  AddressSpace space = map_.space(thread_.pid, tsc);
  if (guest_) space.ranges = {};
  use(space);
}

void Whereabouts::use(const AddressSpace& space) {
  space_ = space;
  image_ = spaces_.image(space_.ranges);
  const uint64_t loss = next_loss_ < end_loss_ ? history_.losses[next_loss_].tsc : UINT64_MAX;
  const uint64_t program = next_program_ < end_program_ ? history_.programs[next_program_].tsc : UINT64_MAX;
  next_ = std::min({space_.until, loss, program, time_of(history_.switches, next_switch_)});
}

std::vector<std::span<const MappedRange>> Whereabouts::spaces_of_segment() const {
  std::vector<std::span<const MappedRange>> spaces{space_.ranges};
  const auto& switches = history_.switches;
  const size_t end = std::min(switches.size(), next_switch_ + kMostSwitchesLookedAt);
  for (size_t at = next_switch_; at < end && switches[at].tsc < last_; ++at) {
    const auto ranges = map_.ranges(switches[at].to.pid, switches[at].tsc);
    const auto same = [&](const auto& known) { return known.data() == ranges.data(); };
    if (std::ranges::none_of(spaces, same)) spaces.push_back(ranges);
  }
  return spaces;
}

bool Whereabouts::find_code(uint64_t address) {
  if (guest_) return false;
  if (spaces_.add(address)) return true;
  if (known(address)) return false;
  // The time that packets tell is older than the map.
  const auto later = map_.later_space(thread_.pid, now_, address);
  if (!later) return false;
  use(*later);
  spaces_.add(address);  // false: it was there already
  return true;
}

bool Whereabouts::has_code(uint64_t address) const {
  const MappedRange* range = find_range(space_.ranges, address);
  if (range != nullptr) return spaces_.has(*range, address);
  return map_.later_space(thread_.pid, now_, address).has_value();
}

std::optional<std::string> Whereabouts::missing_code(uint64_t address) const {
  if (guest_) return "a guest of a hypervisor ran: its code is not the host's";
  for (uint64_t at = address; at < address + pt_max_insn_size; ++at) {
    const MappedRange* range = find_range(space_.ranges, at);
    if (range == nullptr) return "no image is known at " + hex_address(at);
    if (!spaces_.has(*range, at)) return spaces_.missing(*range);
  }
  return std::nullopt;
}

}  // namespace fathom::snapshot
