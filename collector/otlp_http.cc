#include "collector/otlp_http.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "collector/content.h"

namespace fathom::collector {

namespace {

using net::HttpRequest;
using net::HttpRespond;
using net::HttpResponse;

constexpr std::string_view kProtobufType = "application/x-protobuf";
constexpr std::string_view kJsonType = "application/json";

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
  return lower;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

// The media type without its parameters ("; charset=utf-8").
std::optional<Encoding> encoding_of(std::string_view whole) {
  std::string type = lower_case(trimmed(whole.substr(0, whole.find(';'))));
  if (type == kProtobufType || type == "application/protobuf") return Encoding::kProtobuf;
  if (type == kJsonType) return Encoding::kJson;
  return std::nullopt;
}

std::optional<Encoding> encoding_of(const HttpRequest& request) {
  return encoding_of(request.header("content-type"));
}

Transport transport_of(const HttpRequest& request) {
  // Whatever cannot be told is answered, and so counted, as JSON.
  return encoding_of(request) == Encoding::kProtobuf ? Transport::kHttpProtobuf : Transport::kHttpJson;
}

// zlib tells gzip and deflate apart by itself.
enum class Coding { kIdentity, kCompressed, kUnknown };
Coding coding_of(const HttpRequest& request) {
  std::string name = lower_case(trimmed(request.header("content-encoding")));
  if (name.empty() || name == "identity" || name == "none") return Coding::kIdentity;
  return name == "gzip" || name == "x-gzip" || name == "deflate" ? Coding::kCompressed : Coding::kUnknown;
}

Verdict verdict_of_status(int status) {
  switch (status) {
    case 413:
      return Verdict::kOversized;
    case 408:
      return Verdict::kTimeout;
    case 400:
    case 417:
      return Verdict::kInvalid;
    default:
      return Verdict::kUnavailable;
  }
}

// Exporters repeat a request after 429, 502, 503 and 504; after HTTP's own word for it, the spans would be lost.
int status_for_exporters(int status) {
  return status == 408 ? 503 : status;
}

class OtlpHttpHandler : public net::HttpHandler {
 public:
  OtlpHttpHandler(std::shared_ptr<Ingest> ingest, std::string cors_allow_origin)
      : ingest_(std::move(ingest)), cors_allow_origin_(std::move(cors_allow_origin)) {}

  // A browser asks whether it may send before it sends its token.
  std::optional<net::Scope> scope_of(const net::HttpRequest& request) const override {
    if (request.method == "OPTIONS" || request.path == "/healthz") return std::nullopt;
    return net::Scope::kIngest;
  }
  bool allows_origin(const net::HttpRequest& request) const override { return origin_allowed(request); }
  uint64_t max_body_bytes() const override { return ingest_->options().max_request_bytes; }

  std::optional<HttpResponse> admit(HttpRequest& request) override {
    if (is_preflight(request)) return preflight(request);
    if (std::optional<Answer> refusal = misdirected(request)) return refuse(request, *refusal);
    request.reservation = ingest_->open();
    if (!request.content_length) return std::nullopt;
    if (*request.content_length > max_body_bytes()) return refuse(request, too_large(*request.content_length));
    // Memory is taken as the body comes (grow_body), for a length is only a promise; what cannot fit is not even read.
    Result<> room = ingest_->has_room(*request.content_length);
    if (!room.ok()) return refuse(request, ingest_->answer(room.error()));
    return std::nullopt;
  }

  bool grow_body(HttpRequest& request, uint64_t bytes) override { return request.reservation.grow(bytes); }

  HttpResponse explain(const HttpRequest& request, int status, std::string_view message) override {
    Answer answer{verdict_of_status(status), std::string(message), 0, ingest_->options().retry_delay_nano};
    HttpResponse response = refuse(request, answer);
    response.status = status_for_exporters(status);
    return response;
  }

  // Not counted with the requests: nobody knows that it was one. HTTP's own counters have it.
  HttpResponse error(int status, std::string_view message, std::string_view content_type) override {
    Encoding encoding = encoding_of(content_type).value_or(Encoding::kJson);
    if (status_for_exporters(status) == 503) return response_of(unavailable_now(message), encoding, {});
    HttpResponse response;
    response.status = status;
    response.content_type = type_of(encoding);
    response.body = http_error_body(status, message, encoding);
    return response;
  }

  void handle(HttpRequest request, HttpRespond respond) override {
    if (coding_of(request) == Coding::kCompressed) {
      Result<std::string> text = inflate(*ingest_, request.body, request.reservation);
      if (!text.ok()) return respond(refuse(request, ingest_->answer(text.error())));
      request.body = std::move(text).value();
    }
    Encoding encoding = encoding_of(request).value_or(Encoding::kJson);
    // The body must outlive submit(), but need not outlive it by long: the answer refers to nothing of the request.
    auto headers = cors_headers(request);
    ingest_->submit(transport_of(request), encoding, request.body, std::move(request.reservation),
                    [encoding, headers = std::move(headers), respond = std::move(respond)](const Answer& answer) {
                      respond(response_of(answer, encoding, headers));
                    });
  }

 private:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  static std::string_view type_of(Encoding encoding) { return encoding == Encoding::kJson ? kJsonType : kProtobufType; }

  Answer unavailable_now(std::string_view message) const {
    return {Verdict::kUnavailable, std::string(message), 0, ingest_->options().retry_delay_nano};
  }

  static HttpResponse response_of(const Answer& answer, Encoding encoding, Headers headers) {
    HttpResponse response;
    response.status = http_status(answer.verdict);
    response.content_type = type_of(encoding);
    response.body = answer_body(answer, encoding);
    response.headers = std::move(headers);
    if (asks_for_retry(answer.verdict)) {
      response.headers.emplace_back("Retry-After", std::to_string(retry_after_s(answer)));
    }
    if (answer.verdict == Verdict::kMethod) response.headers.emplace_back("Allow", "POST");
    return response;
  }

  HttpResponse refuse(const HttpRequest& request, const Answer& answer) {
    ingest_->refused(transport_of(request), answer.verdict);
    return response_of(answer, encoding_of(request).value_or(Encoding::kJson), cors_headers(request));
  }

  Answer too_large(uint64_t bytes) const {
    return {Verdict::kOversized,
            "the body has " + std::to_string(bytes) + " bytes; the limit is " + std::to_string(max_body_bytes())};
  }

  // What is wrong with a request before its body matters.
  static std::optional<Answer> misdirected(const HttpRequest& request) {
    if (request.path != "/v1/traces") return Answer{Verdict::kNotFound, "traces are taken at POST /v1/traces"};
    if (request.method != "POST") return Answer{Verdict::kMethod, "traces are taken by POST"};
    if (!encoding_of(request)) {
      return Answer{Verdict::kMediaType, "Content-Type must be application/x-protobuf or application/json"};
    }
    if (coding_of(request) == Coding::kUnknown) {
      return Answer{Verdict::kMediaType, "Content-Encoding must be gzip, deflate, identity, or absent"};
    }
    return std::nullopt;
  }

  bool origin_allowed(const HttpRequest& request) const {
    std::string_view origin = request.header("origin");
    return !cors_allow_origin_.empty() && !origin.empty() &&
           (cors_allow_origin_ == "*" || cors_allow_origin_ == origin);
  }
  bool is_preflight(const HttpRequest& request) const {
    return request.method == "OPTIONS" && request.path == "/v1/traces" && origin_allowed(request);
  }
  Headers cors_headers(const HttpRequest& request) const {
    if (!origin_allowed(request)) return {};
    Headers headers = {{"Access-Control-Allow-Origin", cors_allow_origin_}};
    if (cors_allow_origin_ != "*") headers.emplace_back("Vary", "Origin");
    return headers;
  }
  // Browsers ask before they send; exporters there add headers of their own, so what was asked for is allowed.
  HttpResponse preflight(const HttpRequest& request) const {
    HttpResponse response;
    response.status = 204;
    response.headers = cors_headers(request);
    response.headers.emplace_back("Access-Control-Allow-Methods", "POST");
    std::string_view asked = request.header("access-control-request-headers");
    response.headers.emplace_back("Access-Control-Allow-Headers",
                                  asked.empty() ? "Content-Type, Content-Encoding" : std::string(asked));
    response.headers.emplace_back("Access-Control-Max-Age", "7200");
    return response;
  }

  std::shared_ptr<Ingest> ingest_;
  std::string cors_allow_origin_;
};

}  // namespace

std::shared_ptr<net::HttpHandler> make_otlp_http_handler(std::shared_ptr<Ingest> ingest,
                                                         std::string cors_allow_origin) {
  return std::make_shared<OtlpHttpHandler>(std::move(ingest), std::move(cors_allow_origin));
}

}  // namespace fathom::collector
