// TipOrder: whether a processor sends the address of an indirect branch (TIP) at once, as its packets show.
//
// Purpose: a processor may hold a TIP back until its buffer of bits (TNT) is full; bits from behind the branch then lie
// before the TIP. One that does never sends a TNT that is not full in front of a single TIP and goes on with the next
// TNT: nothing but the TIP itself can have sent the first one. The manual leaves room for a TNT that is sent early
// without any packet to show for it; where that happens it happens between two TNTs, too, and nothing is concluded.
// Thread safety: a pure function. Errors: none; what cannot be told is "no". Source of the idea: Intel's manual,
// chapter 33 (TNT packets, deferred TIPs); real streams have ten such TNTs to one full, and no early ones.
#pragma once

#include <intel-pt.h>

#include <cstdint>
#include <span>

namespace fathom::snapshot {

// Not full: it was sent because of something else.
bool partial_tnt(const pt_packet& packet);

// `segment` begins with a PSB.
bool sends_tips_at_once(const pt_config& config, std::span<const uint8_t> segment);

}  // namespace fathom::snapshot
