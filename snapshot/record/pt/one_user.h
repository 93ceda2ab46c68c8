// OneUser: what a snapshot of a whole node may hold if it is for one user.
//
// Purpose: the rings hold what every user's programs did. Of packets those remain that were written while no other
// user's process ran on their CPU; of the history, the rows about the user's own processes. A process is the user's own
// if that is certain (process_owners.h) for all of the window. Whatever is not known counts as another user's: a
// process without a known user, and the time around lost records. Kernel threads and idle processors run no user code,
// so the packets of their time may remain, unless the kernel's code is recorded too. Thread safety: const functions.
// Ownership: the ProcessOwners must outlive it. Errors: none. Units: ticks of the time-stamp counter.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "snapshot/format/snapshot.h"
#include "snapshot/record/pt/process_owners.h"

namespace fathom::snapshot {

// A period in which a CPU ran another user's or an unknown process.
struct HiddenTime {
  uint64_t begin_tsc = 0;
  uint64_t end_tsc = UINT64_MAX;
  bool is_unknown = true;  // it is not known who ran; else another user's process

  bool operator==(const HiddenTime&) const = default;
};
// By CPU, in order. Of a CPU that is not in it, everything is hidden.
using HiddenTimes = std::map<int32_t, std::vector<HiddenTime>>;

class OneUser {
 public:
  // In a window that begins at `since_tsc`.
  OneUser(const ProcessOwners& owners, uint32_t uid, uint64_t since_tsc, bool kernel_is_recorded)
      : owners_(owners), uid_(uid), since_tsc_(since_tsc), kernel_is_recorded_(kernel_is_recorded) {}

  bool owns(int32_t pid) const;
  // `rows` are the history's (process_history.h), which knows all switches from `known_from_tsc` on, and of the CPUs
  // `unsure` not which process ran then.
  HiddenTimes hidden_times(const std::vector<Sideband>& rows, const std::set<int32_t>& unsure,
                           uint64_t known_from_tsc) const;
  // Removes the rows of others, and their numbers from what remains. Where another one's thread follows the user's own,
  // thread 0 does. Returns how many rows about others' processes it removed, without switches.
  uint64_t remove_others(std::vector<Sideband>& rows) const;

 private:
  bool keep(Sideband& row) const;

  const ProcessOwners& owners_;
  uint32_t uid_;
  uint64_t since_tsc_;
  bool kernel_is_recorded_;
};

// A part of some packets.
struct PacketRange {
  uint64_t begin = 0;
  uint64_t end = 0;

  bool operator==(const PacketRange&) const = default;
};

struct ShownPackets {
  std::vector<PacketRange> ranges;  // in order, not adjacent
  uint64_t others_bytes = 0;        // not shown: another user's process ran
  uint64_t unknown_bytes = 0;       // not shown: it is not known who ran

  uint64_t bytes() const;
};

// `packets` begin with a PSB and end at `end_tsc`. What lies between two PSBs was written between their times: it is
// shown if nothing of that time, nor of `margin` ticks around it, is hidden.
ShownPackets shown_packets(std::span<const uint8_t> packets, std::span<const HiddenTime> hidden, uint64_t end_tsc,
                           uint64_t margin);

}  // namespace fathom::snapshot
