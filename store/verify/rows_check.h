// Checks of the families that do not belong to a segment: the directory's own records, identities, operations, stage.
//
// Thread safety: one thread. Ownership: the database outlives the calls. Errors: damage goes to the findings.
#pragma once

#include "store/rocks/catalogue.h"
#include "store/rocks/database.h"
#include "store/verify/findings.h"

namespace fathom::store {

// The numbers that a start reads first.
struct DirectoryRecords {
  uint32_t oldest_partition = 0;
  uint64_t sealed_sequence = 0;  // as retention wrote it; segments may have sealed more
  uint32_t next_operation = 0;
};

DirectoryRecords check_records(Database& database, Findings& findings);
void check_identities(Database& database, Findings& findings);
// Fills the catalogue with the intact rows.
void check_operations(Database& database, const DirectoryRecords& records, Catalogue& catalogue, Findings& findings);
// Batches behind `sealed_sequence`; those before it are in segments.
void check_stage(Database& database, uint64_t sealed_sequence, Findings& findings);

}  // namespace fathom::store
