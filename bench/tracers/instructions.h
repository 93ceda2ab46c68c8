// How many instructions an event takes, counted by valgrind's callgrind.
//
// Purpose: beside a time, whether it is spent in many instructions or in slow ones. Two runs of different length; their
// difference leaves out how a program starts and ends. Only instructions in user space are counted, and under valgrind
// the clock of the vDSO is a system call. Errors: kUnavailable where valgrind is missing, or does not say a number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "bench/tracers/subprocess.h"

namespace fathom::bench::tracers {

Result<double> instructions_per_event(const std::string& program, const std::string& row,
                                      const Environment& environment);

// The number behind "Collected :" of what callgrind prints.
std::optional<uint64_t> collected_instructions(const std::string& output);

}  // namespace fathom::bench::tracers
