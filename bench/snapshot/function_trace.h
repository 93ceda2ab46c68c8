// The kernel's function tracer (ftrace) over one process, as Sharma and Dagenais set it: raw records, 4 MiB per
// processor, the oldest overwritten, no reader.
//
// Thread safety: one thread. Ownership: an instance of tracefs of its own, which goes with this object; tracefs is
// mounted for as long where it was not. Errors: kUnavailable with what is missing.
#pragma once

#include <sys/types.h>

#include <memory>

#include "base/result.h"

namespace fathom::bench {

class FunctionTrace {
 public:
  virtual ~FunctionTrace() = default;
  static Result<std::unique_ptr<FunctionTrace>> make(pid_t pid);
  virtual Result<> put_on() = 0;
  virtual void take_off() = 0;
};

}  // namespace fathom::bench
