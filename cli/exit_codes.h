// What the programs say to scripts when they end. Documented in `fathom --help`; never renumbered.
//
// A supervisor must not restart a program that ended with kUsage or kDataUnusable: `fathom up` and the systemd units
// do not.
#pragma once

#include "base/result.h"

namespace fathom::cli {

enum class ExitCode : int {
  kOk = 0,
  kNothingFound =
      1,  // the trace, capture or snapshot asked for is not stored, nothing was captured, or nothing matches a purge
  kUsage = 2,          // the command line is wrong
  kUnreachable = 3,    // no server answers at the URL, or not in time
  kServerRefused = 4,  // the server answered with an error
  kLocalFailure =
      5,  // something here failed: a program did not start, a file could not be written, doctor found a fault
  kNothingRecorded = 6,  // 'record' recorded nothing, of a program that ended with 0
  // The data directory cannot be used as it is; 'store verify' found damage, 'store repair' lost something, or a purge
  // left captures that cannot be decoded.
  kDataUnusable = 7,
  kInterrupted = 130,  // Ctrl-C before what was asked for was done
};

// Errors of Api and of the command line, as an exit code. Failures of this host are kLocalFailure at the place they
// happen, and kNothingFound is of those who name an id, and of `capture`: elsewhere a 404 is a URL with a path that is
// not fathom's.
inline ExitCode exit_code_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalid:
      return ExitCode::kUsage;
    case ErrorCode::kUnavailable:
    case ErrorCode::kDeadline:
      return ExitCode::kUnreachable;
    default:
      return ExitCode::kServerRefused;
  }
}

}  // namespace fathom::cli
