#include "query/page_links.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/secret.h"
#include "net/json_writer.h"
#include "net/tokens.h"

namespace fathom::query {

namespace {

using net::HttpRequest;
using net::HttpResponse;

constexpr std::string_view kLinks = "/api/v1/page-links";
constexpr std::string_view kLink = "/api/v1/page-links/";

// A proxy or a browser must keep neither codes nor tokens.
HttpResponse secret_response(std::string body) {
  return {.body = std::move(body), .headers = {{"Cache-Control", "no-store"}}};
}

}  // namespace

bool PageLinks::takes(const HttpRequest& request) {
  return request.method == "POST" && (request.path == kLinks || request.path.starts_with(kLink));
}

bool PageLinks::is_open(const HttpRequest& request) {
  return takes(request) && request.path != kLinks;
}

HttpResponse PageLinks::answer(const HttpRequest& request) {
  return is_open(request) ? redeem(request.path.substr(kLink.size())) : make(request);
}

HttpResponse PageLinks::make(const HttpRequest& request) {
  const std::string_view token = net::bearer_token(request.header("authorization"));
  std::string body;
  net::JsonWriter out(body);
  out.begin_object();
  if (!request.token_name.empty() && !token.empty()) {
    const std::string code = random_secret();
    const uint64_t expires_unix_nano = now_unix_nano_() + kLifeNano;
    {
      std::lock_guard lock(mutex_);
      if (links_.size() >= kMost) links_.pop_front();
      links_.push_back({sha256(code), std::string(token), expires_unix_nano});
    }
    out.member("code", code).member("expires_unix_nano", std::to_string(expires_unix_nano));
  }
  out.end_object();
  return secret_response(std::move(body));
}

std::optional<std::string> PageLinks::take_token(const std::string& code) {
  const uint64_t now_unix_nano = now_unix_nano_();
  std::lock_guard lock(mutex_);
  std::erase_if(links_, [&](const Link& link) { return link.expires_unix_nano <= now_unix_nano; });
  const auto found = std::ranges::find(links_, sha256(code), &Link::code);
  if (found == links_.end()) return std::nullopt;
  std::string token = std::move(found->token);
  links_.erase(found);
  return token;
}

HttpResponse PageLinks::redeem(const std::string& code) {
  const std::optional<std::string> token = take_token(code);
  if (!token) {
    return net::error_response(404,
                               "this link was used already, or is older than ten minutes; 'fathom page' makes another");
  }
  std::string body;
  net::JsonWriter(body).begin_object().member("token", *token).end_object();
  return secret_response(std::move(body));
}

}  // namespace fathom::query
