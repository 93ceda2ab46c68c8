// The way of a pool to the node's agent: a unix socket, once per connection.
//
// Purpose: docs/formats/agent-socket.md from the program's side. Thread safety: hand_over() is the
// helper thread's, which has a table of file descriptors of its own. Errors: whatever goes wrong ends the attempt; the
// caller tries again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "client/pool/layout.h"

#include <string_view>

namespace fathom::client {

enum class Handover {
  kNoAgent,  // nobody there
  kRefused,  // the agent does not take this pool
  kLater,    // it has too many
  kEnded,    // it took the pool, and is gone now
};

// Offers the pool (`magic`: of which kind) at the first of the paths where somebody listens and has room, and does not
// stay: from then on the memory is safe, however soon the program ends. Never waits; from any thread, signal handlers
// included.
void offer_at_once(const char* const* paths, uint32_t magic, int pool_fd, uint64_t pool_bytes);

// What the helper has to hand over, and whom it tells what the agent says.
struct Handed {
  int pool_fd = -1;
  uint64_t pool_bytes = 0;
  // The detail pool's file, which may become one long after the connection was made; negative: it never does.
  int detail_fd = -1;
  uint64_t detail_bytes = 0;
  bool (*is_detail_there)(int detail_fd) = nullptr;
  void (*switch_tracepoints)(std::string_view patterns) = nullptr;
};

// Offers the pools at the first of the paths where somebody listens, and comes back when that connection has ended.
Handover hand_over(const char* const* paths, const Handed& handed);

// Whether nobody can take the pool: there has been no agent, and at none of the paths is there anything to connect to.
// An agent that has been there may be coming back, and so may one that left its socket, or whose name cannot be looked
// up.
bool nobody_takes(const char* const* paths);

// What the agent said of itself; false while none has.
bool node_id(uint8_t out[16]);

}  // namespace fathom::client
