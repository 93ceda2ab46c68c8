// What to do next about a request of which too little is known: others like it, and how to have one recorded.
//
// Purpose: nobody is left at the end of a way that leads nowhere: of a slow request that nothing was captured of, the
// likes of it that have more are named, but for those that single steps made slow, and the commands that record the
// next one. Thread safety: one thread, as Api. Errors: none; what the server does not answer is not said. Everything
// has gone through printable().
#pragma once

#include <string>

#include "cli/api.h"
#include "cli/trace_tree.h"

namespace fathom::cli {

// What 'fathom record --span' would have seen of this request, where most of its time went: from the root down, the
// longest child, while it takes half of its parent, and from a call to whoever served it. No call itself, which waits
// in another program than the one that is slow, and nothing that another SDK than fathom's client sent. SIZE_MAX: none.
size_t recordable_span(const TraceTree& tree);

// How to have such a request recorded: a command that this very request would have set off. Empty without spans.
std::string record_hint(const TraceTree& tree);

// The slowest requests of the same operation of which something was captured or recorded, and record_hint().
std::string next_steps(const Api& api, const TraceTree& tree);

}  // namespace fathom::cli
