// One message of a program on the agent's socket: an Offer (of a span pool or of a detail pool) and a descriptor,
// checked.
//
// Purpose: the only code that reads that socket (docs/formats/agent-socket.md). Thread safety: pure. Ownership: the
// descriptors are the result's: closing one that is not wanted is not for the loop (disposal.h). Errors: in
// Received::kind. Hostility: everything; this is what a fuzz target feeds.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "client/pool/layout.h"

namespace fathom::agent {

struct Received {
  // SCM_MAX_FD of Linux: no message has more. With a smaller room the kernel closes those beyond it, in our call.
  static constexpr size_t kMostDescriptors = 253;

  enum class Kind {
    kOffer,
    kDetailOffer,
    kNothing,  // not now
    kEnd,      // the peer is gone
    kVersion,  // an offer of a version that is not ours
    kInvalid,  // no offer, or not exactly one descriptor
  };
  Kind kind = Kind::kInvalid;
  uint64_t pool_bytes = 0;
  Fd descriptor;
  std::vector<Fd> unwanted;  // came with what is no offer

  bool is_offer() const { return kind == Kind::kOffer || kind == Kind::kDetailOffer; }
};

// Reads one message, without waiting.
Received receive_offer(int socket);

// The text of a message and how many descriptors came with it.
Received::Kind check_offer(std::string_view message, size_t descriptors, uint64_t& pool_bytes);

}  // namespace fathom::agent
