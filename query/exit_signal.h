// exit_signal(): the signal that ended the process of a capture.
//
// Rules: the kernel's exit event of a thread has the wait status of its process. Captures without kernel events, or
// made before the process ended, do not know the signal. Thread safety: a pure function.
#pragma once

#include <string>

#include "capture/capture.h"

namespace fathom::query {

// "SIGSEGV"; empty: no signal ended the process, or it is not known.
std::string exit_signal(const capture::Capture& content);

}  // namespace fathom::query
