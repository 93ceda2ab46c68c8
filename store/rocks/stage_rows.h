// Deletes the rows of the stage that a generation in memory was read from or written to.
//
// Purpose: a start ignores the rows up to the last sealed sequence, so the deletion only frees space and need not be
// durable. Thread safety: one thread at a time per generation. Errors: logged; the remaining rows are never deleted and
// never read again.
#pragma once

#include "store/rocks/database.h"
#include "store/rocks/generation.h"

namespace fathom::store {

void delete_stage_rows(Database& database, const Generation& generation);

}  // namespace fathom::store
