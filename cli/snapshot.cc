// fathom snapshot: recorded control flow, from files of packets to the line of source.
#include "cli/snapshot.h"

#include "cli/command.h"
#include "cli/snapshot_share.h"

namespace fathom::cli {

namespace {

CommandLine snapshot_line() {
  return {
      "fathom snapshot",
      "what the processor executed, instruction by instruction: import, list, ask",
      "A snapshot is a short stretch of control flow, recorded by the processor (Intel PT) or by single steps: every "
      "instruction that ran, with times. It lies on this host; no server is needed, but one may keep "
      "it for others (push, pull, list --server). 'last' stands for the newest that was recorded or imported here. "
      "Where packets or code are missing "
      "there are gaps, "
      "which every answer counts with their reasons.",
      {},
      {},
      {{"fathom snapshot import perf.data", "take over what 'perf record -e intel_pt// -- COMMAND' wrote"},
       {"fathom snapshot calls last", "where the time went, as a tree of calls"},
       {"fathom snapshot functions last", "how long each function took: count, median, 99th percentile, maximum"},
       {"fathom snapshot sunburst last -o sunburst.svg", "where the instructions went, as a picture"}}};
}

}  // namespace

const Command& snapshot_command() {
  static const Command kCommand{snapshot_line(), nullptr, [] {
                                  std::vector<const Command*> parts = snapshot_file_commands();
                                  for (const auto& more : {snapshot_question_commands(), snapshot_share_commands()})
                                    parts.insert(parts.end(), more.begin(), more.end());
                                  return parts;
                                }()};
  return kCommand;
}

}  // namespace fathom::cli
