// Which requests a page of another site might have made a browser send.
//
// Purpose: addresses that change something are for people and programs who reach this listener, not for sites that
// their browsers visit. An Origin, where there is one, must be the very host that is asked, as an IP address or
// localhost: a name may be of a stranger's site whose name server has said meanwhile that it is here (DNS rebinding).
// Thread safety: plain functions.
#pragma once

#include <optional>
#include <string_view>

#include "net/http_server.h"

namespace fathom::query {

// 403, for a page that is not this host's own.
std::optional<net::HttpResponse> refuse_foreign_page(const net::HttpRequest& request);
// 415, for a body that is not called JSON: which is all that browsers send to other sites without asking first.
std::optional<net::HttpResponse> refuse_other_than_json(const net::HttpRequest& request);

}  // namespace fathom::query
