// A snapshot of many instructions in a server, for the page to scroll and zoom in.
//
// Thread safety: one thread. Ownership: nothing is left in `work_directory`; the server keeps the snapshot. Errors:
// what could not be written or sent.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace fathom::bench {

struct LargeSnapshot {
  std::string maker;   // the program make-snapshot
  std::string fathom;  // what pushes it
  std::string http;    // the server
  uint64_t instructions = 0;
};
// A program that does little but call, as a processor with Intel PT would have recorded it. Its id.
Result<std::string> push_large_snapshot(const LargeSnapshot& wanted, const std::string& work_directory);

}  // namespace fathom::bench
