// The bodies of POST /api/v1/captures and /api/v1/tracepoints, and the parameters of GET /api/v1/tracepoints.
//
// Purpose: what strangers send, checked member by member. Thread safety: plain functions. Errors: kInvalid, naming the
// member and the cure; an unknown member is refused, so that a misspelt limit is never silently ignored.
#pragma once

#include <string_view>

#include "base/result.h"
#include "net/http_server.h"
#include "query/control.h"

namespace fathom::query {

inline constexpr uint64_t kDefaultCaptureNano = 5'000'000'000;  // of a process or a service
inline constexpr uint64_t kMostCaptureNano = 60'000'000'000;

Result<CaptureAsk> parse_capture_ask(std::string_view json);
Result<TracepointAsk> parse_tracepoint_ask(std::string_view json);  // enable or disable
Result<TracepointAsk> tracepoint_list_ask(const net::HttpRequest& request);
Result<> tracepoint_rules_ask(const net::HttpRequest& request);  // which has no parameters

}  // namespace fathom::query
