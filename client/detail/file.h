// The detail pool's file, which is there before the pool is.
//
// Purpose: the helper thread has a table of file descriptors of its own, and would not see a file that is made later.
// So it makes the file when it starts: empty, of the final size, sealed; one descriptor, and no memory. Whoever needs
// the pool first makes it of that. Thread safety: any thread, any signal handler. Ownership: the process's. Errors: a
// negative descriptor; the pool is then made of a file of its own, and offered by its maker alone.
#pragma once

namespace fathom::client::detail {

// Made now when there is none. Negative: it cannot be had, or the program has closed it.
int ensure_file();
// Whether a pool is in it, and the pool is this process's.
bool holds_pool(int fd);
// In the child of a fork: the parent's is closed.
void leave_parents_file();
// An agent's connection has ended: what it was reading may be written to again.
void void_reader();

}  // namespace fathom::client::detail
