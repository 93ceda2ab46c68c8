// LTTng's tracing of user space: a session daemon where none runs, and a session whose buffers overwrite their oldest
// part.
//
// Purpose: the events of rival-lttng are recorded from its first moment on, and nobody consumes them. Thread safety:
// one thread. Ownership: the session, and the daemon if it was started here, end with this object. Errors: kUnavailable
// with LTTng's own words, or with what to install.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "bench/tracers/subprocess.h"

namespace fathom::bench::tracers {

class LttngSession {
 public:
  static Result<std::unique_ptr<LttngSession>> start(const std::string& log_path);
  ~LttngSession();
  // Of programs that are to be traced.
  static Environment environment();

 private:
  LttngSession() = default;
  Result<> set_up(const std::string& log_path);
  Result<> start_daemon(const std::string& log_path);

  std::unique_ptr<Subprocess> daemon_;
  std::string name_;
};

}  // namespace fathom::bench::tracers
