// page_link(): the address of the page, with a code that gives it the caller's token once.
//
// Thread safety: one thread. Errors: those of Api.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/api.h"

namespace fathom::cli {

// `url`: "http://HOST:PORT", of the server that `api` asks. Without a code if the server asks for no token.
Result<std::string> page_link(const Api& api, const std::string& url);

// The same of a server on this host; `url` itself if the server gives no code.
std::string local_page_link(const Context& context, const std::string& url, const std::string& token_file = "");

}  // namespace fathom::cli
