#include "snapshot/format/deadly_signal.h"

#include <cstring>

namespace fathom::snapshot {

std::vector<DeadlySignal> deadly_signals(const Snapshot& snapshot) {
  std::vector<DeadlySignal> deadly;
  for (const Sideband& row : snapshot.sideband) {
    if (row.kind != SidebandKind::kExit || row.length == 0 || row.length > INT32_MAX) continue;
    deadly.push_back({static_cast<int>(row.length), row.tid, row.address});
  }
  return deadly;
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : std::string("SIG") + name;
}

}  // namespace fathom::snapshot
