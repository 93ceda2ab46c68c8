// The addresses of the JSON face: each turns a request into work for the runner, or into an error that names the cure.
//
// Thread safety: plain functions; the work runs on any thread. Ownership: the work refers to the store, which outlives
// it, and to nothing of the request.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http_server.h"
#include "store/span_store.h"

namespace fathom::query {

struct RoutedQuery {
  std::string_view name;                                                            // a literal: the label in metrics
  uint64_t timeout_nano = 0;                                                        // 0: the default
  std::function<Result<std::string>(store::SpanStore&, store::QueryBudget&)> work;  // the JSON of the answer
};

// kNotFound: no such address; kInvalid: parameters.
Result<RoutedQuery> route(const net::HttpRequest& request, uint64_t now_unix_nano, uint64_t max_timeout_nano);

}  // namespace fathom::query
