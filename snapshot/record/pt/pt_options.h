// What is to be recorded by Intel PT, and how finely.
//
// Purpose: the settings that a person, or the agent, may choose; each is checked against what the processor offers
// (pt_config.h). Thread safety: plain values. Units: in the names; periods are the exponents of Intel's manual.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "snapshot/record/image_rule.h"

namespace fathom::snapshot {

// Record only what runs in here: [offset, offset + bytes) of a file, or of the kernel where `file` is empty.
struct AddressFilter {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::string file;
};

struct PtOptions {
  // Whose: of these processes, with every thread that they have and will have, or, where there is none, of all that
  // runs on the node.
  std::vector<int32_t> pids;
  // Of all that runs on the node: a snapshot has the programs of one user alone (SnapshotWindow::uid, one_user.h).
  bool one_user = false;
  ImageRule images = ImageRule::kAll;
  std::string command;  // how a person would call that; filled in when empty

  uint64_t aux_bytes = 16u << 20;               // per CPU; a power of two
  uint64_t sideband_bytes = 4u << 20;           // per CPU; a power of two
  uint64_t aux_record_bytes = 64 << 10;         // per CPU, for what PT says of its own area
  uint64_t most_snapshot_bytes = 256u << 20;    // of packets in one snapshot; the newest are kept
  uint64_t history_nano = 5 * kNanosPerSecond;  // how far back a window may reach

  bool user = true;
  bool kernel = false;
  bool tsc = true;
  bool branch = true;
  bool noretcomp = false;  // every return with its target: larger, and survives gaps better
  bool ptwrite = false;
  bool power_events = false;
  // Unset: as the processor offers it. Set: refused when it does not.
  std::optional<bool> mtc;
  std::optional<uint8_t> mtc_period;  // one packet in 2^n ticks of the crystal
  bool cyc = false;
  std::optional<uint8_t> cyc_thresh;
  std::optional<uint8_t> psb_period;  // one in 2^(n + 11) bytes; the smaller, the more can be decoded side by side
  std::vector<AddressFilter> filters;
};

}  // namespace fathom::snapshot
