#include "snapshot/record/pt/obstacles.h"

#include <cerrno>
#include <cstring>

#include "snapshot/record/pt/system_files.h"

namespace fathom::snapshot {
namespace {

std::string setting(const PerfSystem& system, const std::string& name) {
  return read_small_file(system.path("/proc/sys/kernel/" + name)).value_or("unknown");
}

std::string cannot(const std::string& what) {
  return "cannot record " + what + ": ";
}

Error not_allowed(const PerfSystem& system, const std::string& what) {
  return {ErrorCode::kUnsupported,
          cannot(what) + "not permitted (kernel.perf_event_paranoid is " + setting(system, "perf_event_paranoid") +
              "); run it with CAP_PERFMON (a systemd unit: AmbientCapabilities=CAP_PERFMON), as root, or set "
              "kernel.perf_event_paranoid=-1"};
}

}  // namespace

Error explain_open(const PerfSystem& system, int error, const std::string& what) {
  switch (error) {
    case EACCES:
    case EPERM:
      return not_allowed(system, what);
    case EBUSY:
      return unavailable(cannot(what) +
                         "it is in use by another recorder (perf, another agent, a hypervisor); end that one");
    case ENODEV:
    case ENXIO:
      return unavailable(cannot(what) + "that CPU is offline");
    case ENOENT:
    case EOPNOTSUPP:
      return {ErrorCode::kUnsupported, cannot(what) + "the kernel has no such event; `fathom doctor --pt` says why"};
    case ENOSPC:
      return unavailable(cannot(what) +
                         "the hardware has no room for another event of this kind (breakpoints: 4 per CPU)");
    case EMFILE:
    case ENFILE:
      return unavailable(cannot(what) + "too many open files; raise LimitNOFILE (ulimit -n)");
    case ESRCH:
      return not_found(cannot(what) + "there is no such process or thread any more");
    case EINVAL:
    case E2BIG:
      return {ErrorCode::kUnsupported, cannot(what) + "this kernel or processor does not take these settings"};
    default:
      return internal(cannot(what) + std::strerror(error));
  }
}

Error explain_map(const PerfSystem& system, int error, uint64_t bytes, const std::string& what) {
  const std::string size = std::to_string(bytes >> 10) + " KiB";
  if (error == EPERM)
    return {ErrorCode::kUnsupported, "cannot map " + what + " of " + size +
                                         ": more locked memory than this user may have; run it with CAP_PERFMON or "
                                         "CAP_IPC_LOCK, or raise kernel.perf_event_mlock_kb (now " +
                                         setting(system, "perf_event_mlock_kb") + ")"};
  if (error == ENOMEM) return exhausted("cannot map " + what + " of " + size + ": no memory; choose smaller rings");
  return internal("cannot map " + what + " of " + size + ": " + std::strerror(error));
}

Error explain_control(int error, const std::string& what) {
  return internal("cannot " + what + ": " + std::strerror(error));
}

}  // namespace fathom::snapshot
