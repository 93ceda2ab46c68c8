// keep_what_ran: takes away what a recording of a whole host says of processes none of whose threads ran meanwhile.
//
// Purpose: such a recording lists the maps of every process there is, and the code of each would be copied. Thread
// safety: pure. Errors: none; where nothing says who ran, all is kept.
#pragma once

#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

void keep_what_ran(Snapshot& snapshot);

}  // namespace fathom::snapshot
