// How fast snapshots are decoded: to control flow with times and a tree of calls, by one and by two threads, beside
// libipt alone in a plain loop.
//
// Thread safety: one thread. Units: instructions per second, MiB. Errors: a decode that finds other than what ran.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "bench/snapshot/streams.h"
#include "snapshot/decode/call_functions.h"
#include "snapshot/format/directory.h"

namespace fathom::bench {

struct DecodeSpeed {
  double plain_per_s = 0;  // libipt's block decoder, one thread, counting only
  double flow_per_s = 0;   // decode_flow(), one thread, counting only
  double calls_per_s = 0;  // with times and the tree of calls, one thread
  double two_over_one = 0;
  double plain_two_over_one = 0;  // two plain loops side by side, which share nothing: what the machine allows
};

struct DecodeSubject {
  const snapshot::SnapshotDirectory& directory;
  const snapshot::SnapshotFile& file;
  const snapshot::CodeExtents& extents;
  std::function<uint64_t()> plain;  // the same packets in a plain loop: the number of instructions
  uint64_t instructions = 0;        // that everybody has to find
};
// The medians of `rounds`, whose measurements take turns.
Result<DecodeSpeed> measure_decode(const DecodeSubject& subject, int rounds);

// Of a stream that the encoder wrote; `directory` is for its files.
Result<DecodeSpeed> measure_made_stream(const MadeStream& stream, const std::string& directory, int rounds);

}  // namespace fathom::bench
