// Who wants to know how far a long piece of work has come.
//
// Thread safety: called by one thread at a time, not always by the same. Units: bytes of packets.
#pragma once

#include <cstdint>
#include <functional>

namespace fathom::snapshot {

using ByteProgress = std::function<void(uint64_t done_bytes, uint64_t all_bytes)>;

}  // namespace fathom::snapshot
