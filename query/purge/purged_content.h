// purged_content(): whether the content of a capture tells of purged traces, or has an event that meets conditions.
//
// Purpose: a capture has the events of all threads of a process, whatever requests they served, so it may tell of a
// trace that it does not belong to. The fields of an event are its attributes, and
// the service is the one of its resource. Thread safety: pure functions. Errors:
// kCorrupt: the content cannot be decoded.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/condition.h"
#include "store/purge/purge_set.h"

namespace fathom::query {

Result<bool> is_purged_content(std::string_view content, const store::TraceSet& traces,
                               const std::vector<store::Condition>& where);

}  // namespace fathom::query
