// The addresses behind the page's pictures: heatmap, differences, graph.
//
// Thread safety: plain functions.
#pragma once

#include <optional>
#include <string_view>

#include "query/params.h"
#include "query/routes.h"

namespace fathom::query {

// Nothing when `path` is none of them.
std::optional<RoutedQuery> picture_route(std::string_view path, Params& params);

// service, operation, where and errors, as all queries about spans take them.
void read_span_conditions(Params& params, store::Filter& filter);

}  // namespace fathom::query
