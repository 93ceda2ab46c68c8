// Whether snapshots by Intel PT work on this host, found out by taking one.
//
// Purpose: `fathom doctor --pt`: records a program whose instructions are known, decodes, compares, and says in one
// line whether it works, and if not, why (processor, firmware, hypervisor, permissions, kernel) and what helps. Thread
// safety: one thread; the process must have no other threads that hold locks, because it forks. Errors: none, they are
// the answer.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "snapshot/record/pt/perf_system.h"
#include "snapshot/record/pt/pt_recorder.h"

namespace fathom::snapshot {

struct PtReport {
  bool works = false;
  std::string says;           // one line
  std::string cure;           // empty when it works
  uint64_t instructions = 0;  // decoded, all of them
  SnapshotCost cost;
};
// {"works":true,"says":"...","cure":""} and a newline: what `fathom doctor --pt` reads from fathom-recorder.
std::string report_json(const PtReport& report);

// The program that is recorded: ready, run, done.
class KnownProgram {
 public:
  virtual ~KnownProgram() = default;
  virtual Result<int32_t> start() = 0;  // its process, which waits
  virtual Result<> run() = 0;           // until it is through with known_loop's rounds
};
inline constexpr uint32_t kKnownRounds = 1000;
std::unique_ptr<KnownProgram> forked_known_program();

PtReport check_pt(PerfSystem& system, KnownProgram& program, const SnapshotDirectory& directory);
// The same for this host, in a directory of its own that is removed afterwards.
PtReport check_pt_of_this_host();
// Without recording: what the host says of itself. Nothing when nothing speaks against it.
std::string why_no_pt(const PerfSystem& system, std::string& cure);

}  // namespace fathom::snapshot
