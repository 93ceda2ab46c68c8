// The addresses that ask for snapshots: /api/v1/snapshots, /api/v1/snapshots/ID..., /api/v1/images/SHA256/bytes.
//
// Thread safety: plain functions. Errors: kInvalid names the parameter, or the id. What is sent: upload_routes.h.
#pragma once

#include <optional>
#include <string_view>

#include "query/params.h"
#include "query/routes.h"
#include "query/snapshots/uploads.h"

namespace fathom::query {

// Nothing: the address is none of these.
std::optional<Result<RoutedQuery>> snapshot_route(std::string_view path, Params& params);

// The content whose bytes are at this path, ".../snapshots/ID/bytes" or ".../images/SHA256/bytes", for both directions.
// Nothing: it is another kind of path. kInvalid: the name is none.
std::optional<Result<ContentName>> content_of_path(std::string_view path);

}  // namespace fathom::query
