// How fast snapshots are decoded: to control flow with times and a tree of calls, by one and by two threads, beside
// libipt alone in a plain loop.
//
// Thread safety: one thread. Units: instructions per second, MiB. Errors: a decode that finds other than what ran.
#pragma once

#include <string>

#include "base/result.h"
#include "bench/snapshot/streams.h"

namespace fathom::bench {

struct DecodeSpeed {
  double plain_per_s = 0;  // libipt's block decoder, one thread, counting only
  double flow_per_s = 0;   // decode_flow(), one thread, counting only
  double calls_per_s = 0;  // with times and the tree of calls, one thread
  double two_over_one = 0;
};
// The medians of `rounds`, whose measurements take turns; `directory` is for its files.
Result<DecodeSpeed> measure_decode(const MadeStream& stream, const std::string& directory, int rounds);

}  // namespace fathom::bench
