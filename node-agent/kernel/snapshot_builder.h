// SnapshotBuilder: from rings and slots to the events that were asked for.
//
// Purpose: filter, order, names. Thread safety: none; one per snapshot. Ownership: the request must outlive it. Units:
// nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "node-agent/kernel/choices.h"
#include "node-agent/kernel/events.h"
#include "node-agent/kernel/kernel_recorder.h"
#include "node-agent/kernel/ring_reader.h"

namespace fathom::agent::kernel {

class SnapshotBuilder {
 public:
  // `now_nano`: what happens from now on, some rings will have, and others not.
  SnapshotBuilder(const SnapshotRequest& request, ChoiceFilter filter, uint64_t now_nano)
      : request_(request), filter_(std::move(filter)), begun_nano_(now_nano) {}

  void read(const RingView& ring);
  // Where it is wanted.
  void add(KernelEvent event);
  KernelSnapshot finish();

 private:
  bool is_wanted(KernelEvent& event, const Choice& choice) const;
  void note_name(const KernelEvent& event);
  // By process: those that an event is about, or that switched or woke one.
  std::map<int32_t, std::set<int32_t>> threads_of_events() const;
  void add_names();
  void leave_out();

  const SnapshotRequest& request_;
  const ChoiceFilter filter_;
  const uint64_t begun_nano_;
  KernelSnapshot snapshot_;
  // Of threads that may be gone by now, also of after the window.
  std::map<std::pair<int32_t, int32_t>, std::pair<uint64_t, std::string>> noted_names_;
};

}  // namespace fathom::agent::kernel
