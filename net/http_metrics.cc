#include "net/http_metrics.h"

#include <string_view>

namespace fathom::net {

namespace {

// In the order of Refusal.
constexpr std::array<std::string_view, kRefusals> kRefusalNames = {
    "malformed", "header_too_large", "header_timeout", "not_admitted",    "body_too_large",       "body_timeout",
    "cut_off",   "memory",           "answer_memory",  "reader_too_slow", "too_many_connections", "accept_failed",
    "no_token",  "other_site"};
static_assert(!kRefusalNames.back().empty(), "each refusal has a name");

// What this server and its handlers answer. A handler may use others; they are listed from their first time on.
constexpr std::array kUsualStatuses = {200, 204, 400, 401, 403, 404, 405, 408, 413,
                                       415, 417, 431, 499, 500, 501, 503, 504};

}  // namespace

HttpMetrics::HttpMetrics(const std::string& listener)
    : label_(label("listener", listener)),
      open_connections_(gauge("fathom_http_connections", "Open connections of an HTTP listener.", label_)) {
  for (size_t i = 0; i < kRefusals; ++i) {
    refused_[i] = &counter("fathom_http_refused_total", "Connections and requests that an HTTP listener turned away.",
                           label_ + "," + label("reason", kRefusalNames[i]));
  }
  for (int status : kUsualStatuses) answers(status);
}

Counter& HttpMetrics::answers(int status) {
  return counter("fathom_http_answers_total", "Answers of an HTTP listener, by status.",
                 label_ + "," + label("status", std::to_string(status)));
}

void HttpMetrics::answered(int status) {
  answers(status).add();
}

}  // namespace fathom::net
