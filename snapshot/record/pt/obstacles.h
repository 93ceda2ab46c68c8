// What the system refused, in words that name the cure.
//
// Thread safety: pure functions; the system is asked for its settings. Errors are their purpose.
#pragma once

#include <string>

#include "base/result.h"
#include "snapshot/record/pt/perf_system.h"

namespace fathom::snapshot {

// `error` is the errno of perf_event_open(2) for `what` ("Intel PT on CPU 3").
Error explain_open(const PerfSystem& system, int error, const std::string& what);
Error explain_map(const PerfSystem& system, int error, uint64_t bytes, const std::string& what);
Error explain_control(int error, const std::string& what);

}  // namespace fathom::snapshot
