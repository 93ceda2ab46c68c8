// A stored span with everything it says, as one line of text that no other content has.
//
// Purpose: "rows equal in every field" by comparing texts, and differences that a person can read. Strings carry their
// length, so that no content can imitate another. Thread safety: a pure function.
#pragma once

#include <string>

#include "store/span.h"

namespace fathom::store {

// What was sent: the span, its resource, its scope and its sender's clock.
std::string content_text(const StoredSpan& stored);
// The same with what the store made of it: service, operation, conflict.
std::string stored_text(const StoredSpan& stored);

}  // namespace fathom::store
