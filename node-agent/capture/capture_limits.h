// Limits of a capture, and how one that is beyond them is made to keep them: what is oldest goes.
//
// Thread safety: pure functions of what they are given. Errors: none; what goes is counted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "capture/capture.h"

namespace fathom::agent {

struct CaptureLimits {
  uint64_t most_events = 1 << 20;  // of the program and of the kernel together
  uint64_t most_bytes = 64 << 20;  // of memory; what is encoded and compressed has never more, and mostly a tenth
  size_t most_threads = 16 * 1024;
  size_t most_open_spans = 16 * 1024;
  size_t most_spans_in_sets = 512 * 1024;  // of all sets
};

struct LeftOut {
  uint64_t events = 0;
  uint64_t kernel_events = 0;
  uint64_t until_nano = 0;  // no event that was left out is younger
};

LeftOut keep_newest(capture::Capture& capture, const CaptureLimits& limits);

}  // namespace fathom::agent
