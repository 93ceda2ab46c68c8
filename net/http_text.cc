#include "net/http_text.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/status.hpp>

#include "net/json_writer.h"
#include "net/uri.h"

namespace fathom::net {

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

namespace {

// Anything but plain "chunked" would leave the two sides at odds about where the body ends.
Result<> check_transfer_encoding(const HttpRequest& request) {
  for (const auto& [name, value] : request.headers) {
    if (name == "transfer-encoding" && lower_case(value) != "chunked") {
      return Error{ErrorCode::kUnsupported, "transfer-encoding '" + value + "' is not supported; only chunked is"};
    }
  }
  return {};
}

bool same_name(std::string_view a, std::string_view b) {
  return boost::beast::iequals({a.data(), a.size()}, {b.data(), b.size()});
}

std::string_view trimmed_field(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t') || text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

bool has_header(const HttpResponse& response, std::string_view name) {
  return std::any_of(response.headers.begin(), response.headers.end(),
                     [name](const auto& header) { return same_name(header.first, name); });
}

constexpr std::string_view kContentType = "content-type";

}  // namespace

std::string_view status_reason(int status) {
  return view(boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(status)));
}

std::string render_head(const HttpResponse& response, bool keep_alive, bool takes_chunks) {
  std::string head = "HTTP/1.1 " + std::to_string(response.status) + " ";
  head += status_reason(response.status);
  head += "\r\n";
  auto field = [&head](std::string_view name, std::string_view value) {
    head.append(name).append(": ").append(value).append("\r\n");
  };
  if (!response.content_type.empty()) field("Content-Type", response.content_type);
  if (!response.rest) field("Content-Length", std::to_string(response.body.size()));
  if (response.rest && takes_chunks) field("Transfer-Encoding", "chunked");
  field("Connection", keep_alive ? "keep-alive" : "close");
  for (const auto& [name, value] : response.headers) field(name, value);
  return head += "\r\n";
}

Result<> parse_head(const BeastHeader& message, HttpRequest& out) {
  out.method = view(message.method_string());
  for (const auto& field : message)
    out.headers.emplace_back(lower_case(view(field.name_string())), view(field.value()));
  auto target = parse_target(view(message.target()));
  if (!target) return target.error();
  out.path = std::move(target->path);
  out.query = std::move(target->query);
  return check_transfer_encoding(out);
}

// Only whole lines count, and only those before the empty one: what follows it is a body.
std::string content_type_of(const BeastHeader& parsed, std::string_view rest) {
  auto known = parsed.find(boost::beast::http::field::content_type);
  if (known != parsed.end()) return std::string(view(known->value()));
  for (size_t end; (end = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(end + 1)) {
    std::string_view line = trimmed_field(rest.substr(0, end));
    if (line.empty()) break;
    size_t colon = line.find(':');
    if (colon != std::string_view::npos && same_name(line.substr(0, colon), kContentType)) {
      return std::string(trimmed_field(line.substr(colon + 1)));
    }
  }
  return "";
}

void add_retry_after(HttpResponse& response) {
  if (response.status != 503 || has_header(response, "Retry-After")) return;
  response.headers.emplace_back("Retry-After", "1");
}

HttpResponse refusal_response(HttpHandler& handler, int status, std::string_view message,
                              std::string_view content_type) {
  HttpResponse response = handler.error(status, message, content_type);
  add_retry_after(response);
  return response;
}

std::string_view HttpRequest::header(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_case_name) return value;
  }
  return {};
}

std::optional<std::string_view> HttpRequest::param(std::string_view key) const {
  for (const auto& [name, value] : query) {
    if (name == key) return value;
  }
  return std::nullopt;
}

HttpResponse error_response(int status, std::string_view message) {
  std::string code = lower_case(status_reason(status));
  for (char& c : code) {
    if (c == ' ' || c == '-') c = '_';
  }
  HttpResponse response{.status = status};
  JsonWriter json(response.body);
  json.begin_object().key("error").begin_object();
  json.member("code", code).member("message", message);
  json.end_object().end_object();
  response.body += "\n";
  return response;
}

HttpResponse HttpHandler::explain(const HttpRequest& request, int status, std::string_view message) {
  return error(status, message, request.header(kContentType));
}

HttpResponse HttpHandler::error(int status, std::string_view message, std::string_view) {
  return error_response(status, message);
}

}  // namespace fathom::net
