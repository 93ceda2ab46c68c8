// Whether a stream says what was stepped: libipt's instruction decoder, address by address, against the stepper's log.
//
// Purpose: the proof of the stepper, for tests and the benchmark; shares no code with snapshot/decode. Memory is read
// from the sideband's images by a callback, as slow as that is. Thread safety: plain values. Errors: what cannot be
// decoded is a mismatch, and `first` says it in words.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "snapshot/format/directory.h"

namespace fathom::snapshot::step {

// By thread, as StepObserver is told them.
using StepLog = std::map<pid_t, std::vector<uint64_t>>;

struct FlowCheck {
  uint64_t instructions = 0;  // decoded
  uint64_t mismatches = 0;
  uint64_t errors = 0;  // of the decoder
  std::string first;    // the first of either, for people
};

Result<FlowCheck> check_flow(const SnapshotDirectory& directory, const SnapshotId& id, const StepLog& log);

// What libipt makes of one stream's packets; `tsc` 0 where no time is known. Reads no further than an error.
struct DecodedFlow {
  std::vector<uint64_t> ips;
  std::string error;  // empty: none
  uint64_t first_tsc = 0;
  uint64_t last_tsc = 0;
};
using ReadCode = std::function<size_t(uint64_t ip, uint64_t tsc, uint8_t* to, size_t bytes)>;
DecodedFlow decode_stream(std::vector<uint8_t> packets, uint8_t nom_freq, const ReadCode& read);

}  // namespace fathom::snapshot::step
