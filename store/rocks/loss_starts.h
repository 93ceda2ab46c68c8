// The known losses, with the times at which the lost spans may have started.
//
// Purpose: senders deliver spans late after an outage, and some clocks run ahead. So the range of reception of a loss
// does not show when its spans started. The spans that were received near the loss and are still stored show how far
// starts and receptions differed. The hour on both sides is the length of a partition by default: merged segments do
// not show their spans' reception more exactly, and a sender with a backlog rarely delivers it in seconds. What no
// stored span shows stays unknown.
// Thread safety: all. Ownership: returns values. Errors: none. Cost: reads memory only, and nothing without a loss.
#pragma once

#include <vector>

#include "store/rocks/engine.h"

namespace fathom::store {

// Losses that may have destroyed rows of captures only have 0 in `most_batches`.
std::vector<Loss> known_losses(const Engine& engine);

// Those that may have destroyed batches of spans.
std::vector<Loss> known_span_losses(const Engine& engine);

}  // namespace fathom::store
