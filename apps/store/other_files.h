// The files of a data directory that are not the store's: snapshots that were sent to the server, their images, answers
// that were kept, the rules of tracepoints, the state of the age clock, the token of queries, and the keys of nodes and
// of redaction.
//
// Purpose: checks them for `fathom store verify`, and copies the intact ones for `fathom store repair`. Snapshots and
// images are named by their SHA-256; rules and answers have hashes. Answers can be worked out again, so they are not
// copied. Thread safety: one thread. Memory: one description at a time. Errors: damage goes to the findings; copying
// fails as the disk says.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "store/verify/findings.h"

namespace fathom {

uint64_t snapshot_bytes(const std::string& data);
void check_other_files(const std::string& data, store::Findings& findings);
// Files keep their times, which are the times of reception. Nothing is synced: store::repair_store() does that.
Result<> copy_other_files(const std::string& from, const std::string& to, store::Findings& findings);

}  // namespace fathom
