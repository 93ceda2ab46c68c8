#include "query/json_body.h"

#include <string>

#include "net/http_text.h"

namespace fathom::query {

namespace {

bool is_json_type(std::string_view content_type) {
  std::string type = net::lower_case(content_type.substr(0, content_type.find(';')));
  while (!type.empty() && type.back() == ' ') type.pop_back();
  return type == "application/json";
}

}  // namespace

std::optional<net::HttpResponse> refuse_other_than_json(const net::HttpRequest& request) {
  if (is_json_type(request.header("content-type"))) return std::nullopt;
  return net::error_response(415, "the body must be JSON: say Content-Type: application/json");
}

}  // namespace fathom::query
