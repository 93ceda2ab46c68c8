// What a child of fork() inherits, and how it lets go of it.
//
// Purpose: the parent's pools must not be written by its child. Live is empty in the child by itself; here the mappings
// and the file descriptors go. Thread safety: remember_*_for_forks() from the one thread that installed the pool.
#pragma once

#include "client/pool_memory.h"

namespace fathom::client {

void remember_for_forks(const MadePool& made);
void remember_detail_for_forks(const MadePool& made);
FileIdentity pool_file();
FileIdentity detail_pool_file();
void prepare_for_forks();

}  // namespace fathom::client
