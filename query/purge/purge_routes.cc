#include "query/purge/purge_routes.h"

#include <boost/json.hpp>
#include <string>
#include <utility>

#include "query/conditions.h"
#include "query/http_face.h"
#include "query/json_body.h"

namespace fathom::query {

namespace {

namespace json = boost::json;

constexpr size_t kMostConditions = 16;

Error wrong_body() {
  return invalid("the body must be {\"where\": [\"KEY=VALUE\", ...]}, with 1 to " + std::to_string(kMostConditions) +
                 " conditions");
}

}  // namespace

Result<std::vector<store::Condition>> parse_purge_ask(std::string_view text) {
  json::error_code fault;
  const json::value body = json::parse({text.data(), text.size()}, fault);
  const json::object* object = fault ? nullptr : body.if_object();
  const json::value* where = object == nullptr || object->size() != 1 ? nullptr : object->if_contains("where");
  const json::array* texts = where == nullptr ? nullptr : where->if_array();
  if (texts == nullptr || texts->empty() || texts->size() > kMostConditions) return wrong_body();
  std::vector<store::Condition> conditions;
  for (const json::value& one : *texts) {
    if (!one.is_string()) return wrong_body();
    Result<store::Condition> condition = parse_condition({one.get_string().data(), one.get_string().size()});
    if (!condition) return condition.error();
    conditions.push_back(*std::move(condition));
  }
  return conditions;
}

std::optional<net::HttpResponse> PurgeRoutes::refuse(const net::HttpRequest& request) {
  if (request.method == "POST") return refuse_other_than_json(request);
  if (request.method == "GET" || request.method == "HEAD") return std::nullopt;
  net::HttpResponse response = net::error_response(405, "a purge is requested with POST, and its state read with GET");
  response.headers.emplace_back("Allow", "GET, HEAD, POST");
  return response;
}

net::HttpResponse PurgeRoutes::answer(const net::HttpRequest& request) const {
  if (desk_ == nullptr) {
    return net::error_response(403,
                               "this server asks for no token, so everybody who reaches it could purge: start it with "
                               "--query-token-file FILE, or with 'none' if everybody may");
  }
  if (request.method != "POST") return {.body = to_json(desk_->status())};
  Result<std::vector<store::Condition>> where = parse_purge_ask(request.body);
  if (!where) return fault_response(where.error());
  Result<std::string> id = desk_->ask(*std::move(where));
  if (!id) return fault_response(id.error());
  return {.status = 202, .body = to_json(desk_->status())};
}

}  // namespace fathom::query
