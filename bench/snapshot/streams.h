// Streams of packets to decode: a program in loops, and one that does little but call. Written by the encoder, as a
// processor with Intel PT writes them.
//
// Thread safety: one thread. Units: instructions, ticks. Errors: none; what the encoder cannot write is our own fault.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "snapshot/decode/call_functions.h"
#include "snapshot/format/snapshot.h"

namespace fathom::bench {

struct MadeStream {
  std::string code;
  uint64_t base = 0;
  std::string packets;
  uint64_t instructions = 0;
  snapshot::Timing timing;
  std::vector<uint64_t> functions;  // where they begin; each reaches to the next
};

// Inner loops of 13 and 9 instructions, 64 times each; MTC alone tells the time. 0.02 bytes per instruction.
MadeStream make_loops(uint64_t instructions);
// Recursion, three instructions between two calls or returns; cycles are counted with each packet.
MadeStream make_calls(uint64_t instructions);

// The functions of such a stream, as symbols would tell them.
class MadeExtents final : public snapshot::CodeExtents {
 public:
  explicit MadeExtents(const MadeStream& stream) : stream_(stream) {}
  snapshot::CodeExtent find(int32_t pid, uint64_t tsc, uint64_t ip) const override;
  const void* space(int32_t, uint64_t) const override { return this; }

 private:
  const MadeStream& stream_;
};

}  // namespace fathom::bench
