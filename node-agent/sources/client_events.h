// ClientEvents: the source of what programs record themselves: the events of fathom's client, in their detail pools.
//
// Purpose: every traced program has a flight recorder of its own, which the program writes and sizes; this source has
// nothing to start, and copies from the recorders. Thread safety: as Source. Errors: none; what was overwritten, left
// out or damaged is counted in the capture. Hostility: as detail_reader.h.
#pragma once

#include "node-agent/detail/detail_snapshot.h"
#include "node-agent/sources/source.h"

namespace fathom::agent {

class ClientEvents : public Source {
 public:
  std::string_view name() const override { return "events of the client"; }
  std::vector<Availability> availability() const override;
  void follow(const ProcessId&, FollowReason) override {}
  void forget(const ProcessId&, FollowReason) override {}
  bool awaits_first_data(const WatchedProgram& program) const override { return !program.detail; }
  bool copies_at_once() const override { return true; }
  uint64_t needed_bytes(const SliceRequest& request) const override;
  std::unique_ptr<Slice> slice(const SliceRequest& request) override;
};

// The events of a snapshot, into a capture.
void write_client_events(const DetailSnapshot& snapshot, CaptureBuilder& capture);

}  // namespace fathom::agent
