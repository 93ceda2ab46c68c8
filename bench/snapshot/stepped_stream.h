// How fast a stream is decoded that the stepper made: a real program with its libraries and their symbols, from the
// dynamic linker's first instruction on.
//
// Stepping takes seconds for some hundred thousand instructions, so its packets are repeated until they are as many as
// were asked for: a stream that decodes as it stands. Thread safety: one thread. Errors: what the recorder said when it
// failed; a decode that finds another number of instructions than were stepped.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "bench/snapshot/decode_steps.h"

namespace fathom::bench {

struct SteppedSpeed {
  uint64_t stepped = 0;  // instructions
  uint64_t repeats = 0;
  double bytes_per_instruction = 0;
  DecodeSpeed decode;
};
// `recorder` is fathom-recorder; `directory` is for its files.
Result<SteppedSpeed> measure_stepped_stream(const std::string& recorder, const std::string& directory,
                                            uint64_t instructions, int rounds);

}  // namespace fathom::bench
