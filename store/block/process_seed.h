// A number that nobody outside this process can know: hash tables over senders' values start from it, so that values
// chosen to collide do not.
#pragma once

#include <cstdint>

namespace fathom::store::block {

uint64_t process_seed();

}  // namespace fathom::store::block
