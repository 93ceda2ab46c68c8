// PurgeRoutes: POST /api/v1/purge asks for a purge, GET /api/v1/purge tells what became of the last one.
//
// Thread safety: all of it. Ownership: shares the desk. Errors: 400 names the member and the cure; 403 without a desk;
// 415 for a body that is not called JSON; 503 during a purge.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "net/http_server.h"
#include "query/purge/purge_desk.h"
#include "store/condition.h"

namespace fathom::query {

class PurgeRoutes {
 public:
  static constexpr std::string_view kPath = "/api/v1/purge";

  explicit PurgeRoutes(std::shared_ptr<PurgeDesk> desk) : desk_(std::move(desk)) {}

  static bool takes(const net::HttpRequest& request) { return request.path == kPath; }
  static std::optional<net::HttpResponse> refuse(const net::HttpRequest& request);
  net::HttpResponse answer(const net::HttpRequest& request) const;

 private:
  const std::shared_ptr<PurgeDesk> desk_;
};

// {"where": ["KEY=VALUE", ...]}, at least one.
Result<std::vector<store::Condition>> parse_purge_ask(std::string_view json);

}  // namespace fathom::query
