// What fathom-recorder was asked for, by the command line of `fathom record`.
//
// Thread safety: pure functions. Errors: kInvalid, naming flag and cure; kUnsupported: an engine that this machine has
// not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/args.h"
#include "cli/context.h"
#include "cli/snapshot_share.h"
#include "snapshot/record/step/stepper.h"

namespace fathom {

struct RecorderOptions {
  std::vector<std::string> command;
  std::string directory;
  std::string directory_words;  // " --directory DIR", for commands that are to find it, too; empty: it was not given
  std::string engine;           // as it was asked for
  std::string function;
  std::string span;
  bool from_linker = false;  // a whole program, from its first instruction on
  bool bind_now = true;      // by stepping: the dynamic linker resolves all functions before main()
  uint64_t least_nano = 0;
  uint64_t before_nano = 0;  // of a function's entry, by Intel PT
  uint64_t after_nano = 0;
  bool around_given = false;  // one of the two was typed
  snapshot::step::StepLimits limits;
  std::string json_file;
  bool private_images = false;  // copies programs and libraries too that not everybody may read
  bool push = true;             // what is of a request
  cli::Connect connect;         // to the server that it is pushed to
};

Result<RecorderOptions> recorder_options(const cli::Args& args, const cli::Context& context);

// Whether files are copied that not everybody may read: root must say so, others can open only what they may read.
bool copies_private_images(const cli::Args& args, bool is_root);

// Why Intel PT cannot record here; nothing: it can. `pmu`: where the kernel shows its unit, for tests.
std::optional<std::string> why_no_pt(const std::string& pmu = "/sys/bus/event_source/devices/intel_pt");

}  // namespace fathom
