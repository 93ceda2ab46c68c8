// The addresses that look into a snapshot: snapshots/ID/view, and view/calls, /insns, /stack, /find, /source below it.
//
// Purpose: parameters become one line for what keeps the snapshot open (docs/formats/view.md), whose document is the
// answer. Thread safety: plain functions. Errors: kInvalid names the parameter.
#pragma once

#include <optional>
#include <string_view>

#include "query/params.h"
#include "query/routes.h"
#include "query/snapshots/summary.h"

namespace fathom::query {

// `tail`: what follows the id. Nothing: it is another question.
std::optional<Result<RoutedQuery>> view_route(const SnapshotId& id, std::string_view tail, Params& params);

}  // namespace fathom::query
