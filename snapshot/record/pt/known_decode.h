// The instructions of one stretch of code, out of packets: as little of decoding as a self-test needs.
//
// Purpose: `doctor --pt` compares them with those that ran. Real decoding is snapshot/decode's. Thread safety: pure
// function. Errors: none; what cannot be decoded is not there, and counted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "snapshot/format/snapshot.h"
#include "snapshot/record/pt/known_loop.h"

namespace fathom::snapshot {

struct KnownDecoded {
  std::vector<uint64_t> path;  // those inside `code`, in order
  uint64_t instructions = 0;   // all of them
  uint64_t errors = 0;         // where decoding had to begin anew
};

// Code is read out of this process, whose image the recorded one shares (it was forked).
KnownDecoded decode_known(std::span<const uint8_t> packets, const Snapshot& snapshot, const CodeRange& code);

}  // namespace fathom::snapshot
