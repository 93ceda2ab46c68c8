// The addresses of captures and of what is made of them: /api/v1/captures..., /api/v1/traces/ID/timeline and /perfetto.
//
// Thread safety: plain functions. Errors: kInvalid names the parameter, or the id.
#pragma once

#include <optional>
#include <string_view>

#include "query/params.h"
#include "query/routes.h"

namespace fathom::query {

inline constexpr std::string_view kCapturesPath = "/api/v1/captures";

// Nothing: the address is none of these.
std::optional<Result<RoutedQuery>> capture_route(std::string_view path, Params& params);

}  // namespace fathom::query
