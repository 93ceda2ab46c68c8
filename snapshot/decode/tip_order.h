// Whether the address of an indirect branch (TIP) makes a processor send the bits before it (TNT), as packets show.
//
// Purpose: a processor may hold a TIP back until its buffer of bits is full; bits from behind the branch then lie
// before the TIP. Where it does not, most TNTs in front of a single TIP are not full although the next packet is a TNT
// again, so that nothing but the TIP can have sent them. The manual leaves room for bits that are sent early without a
// packet to show for it; where that happens it happens between two TNTs, too, and nothing is concluded. Thread safety:
// pure functions. Errors: none; what cannot be told is "no". Source of the idea: Intel's manual, chapter 33 (TNT
// packets, deferred TIPs); real streams have ten such TNTs to a full one, and none that was sent early.
#pragma once

#include <intel-pt.h>

#include <cstdint>
#include <span>

namespace fathom::snapshot {

// Not full: it was sent because of something else.
bool partial_tnt(const pt_packet& packet);

// `segment` begins with a PSB.
bool tips_send_bits(const pt_config& config, std::span<const uint8_t> segment);

}  // namespace fathom::snapshot
