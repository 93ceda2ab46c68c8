// A request's body must be called JSON.
//
// Purpose: browsers send a body of that type to another site only after asking first, which nobody here allows.
// Thread safety: a plain function.
#pragma once

#include <optional>

#include "net/http_server.h"

namespace fathom::query {

// 415, for a body that is not called JSON.
std::optional<net::HttpResponse> refuse_other_than_json(const net::HttpRequest& request);

}  // namespace fathom::query
