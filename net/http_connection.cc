#include "net/http_connection.h"

#include <algorithm>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <cstring>

#include "net/local_token.h"
#include "net/quick_ack.h"
#include "net/tokens.h"

namespace fathom::net {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

constexpr size_t kSmallRead = 4 * 1024;  // while there is no body: a thousand idle peers cost a thousand of these
constexpr size_t kBodyRead = 64 * 1024;
constexpr uint64_t kLingerBytes = 256 * 1024 * 1024;
constexpr auto kHalfClosedGrace = std::chrono::milliseconds(250);
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

HttpConnection::HttpConnection(HttpServer::Impl& server, asio::ip::tcp::socket socket, std::string peer)
    : server_(server), peer_(std::move(peer)), socket_(std::move(socket)), timer_(socket_.get_executor()) {}

void HttpConnection::start() {
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->set_deadline(Clock::now() + std::chrono::nanoseconds(self->server_.options.idle_timeout_nano));
    self->advance();
  });
}

void HttpConnection::advance() {
  while (step()) {
  }
}

bool HttpConnection::step() {
  switch (state_) {
    case State::kIdle:
      return begin_request();
    case State::kHeader:
      return parse_header();
    case State::kBody:
      return parse_body();
    case State::kHandling:
    case State::kWriting:
      // Reading on shows when the peer goes away, and takes in a bounded part of what it pipelines.
      if (buffer_.size() < server_.options.max_header_bytes) read_more();
      return false;
    case State::kLinger:
      return linger();
    case State::kClosed:
      return false;
  }
  return false;
}

// Some clients send an empty line after a body; RFC 9112, 2.2, asks to overlook it.
void HttpConnection::skip_empty_lines() {
  while (buffer_.size() >= 2 && std::memcmp(buffer_.data().data(), "\r\n", 2) == 0) buffer_.consume(2);
}

bool HttpConnection::begin_request() {
  skip_empty_lines();
  if (buffer_.size() == 0) {
    if (drain_) {
      close();
    } else {
      read_more();
    }
    return false;
  }
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(server_.options.max_header_bytes));
  parser_->body_limit(boost::none);  // on_header() compares, after the handler has seen the header
  set_deadline(Clock::now() + std::chrono::nanoseconds(server_.options.header_timeout_nano));
  state_ = State::kHeader;
  return true;
}

bool HttpConnection::parse_header() {
  boost::system::error_code fault;
  buffer_.consume(parser_->put(buffer_.data(), fault));
  if (parser_->is_header_done()) return on_header();
  if (fault == http::error::need_more) {
    read_more();
    return false;
  }
  if (fault == http::error::header_limit) {
    return refuse(Refusal::kHeaderTooLarge, 431,
                  "the header is larger than " + std::to_string(server_.options.max_header_bytes) + " bytes");
  }
  return refuse(Refusal::kMalformed, 400, "not an HTTP/1.1 request: " + fault.message());
}

bool HttpConnection::on_header() {
  request_ = HttpRequest{};
  cancel_ = std::make_shared<CancelSignal>();
  request_.cancel = cancel_;
  request_.cancelled = std::shared_ptr<std::atomic<bool>>(cancel_, &cancel_->flag);
  auto length = parser_->content_length();
  if (length) request_.content_length = *length;
  if (!length && !parser_->chunked()) request_.content_length = 0;
  head_only_ = parser_->get().method() == http::verb::head;
  takes_chunks_ = parser_->get().version() >= 11;
  wants_keep_alive_ = parser_->keep_alive();
  if (auto parsed = parse_head(parser_->get(), request_); !parsed) {
    return refuse(Refusal::kMalformed, parsed.error().code == ErrorCode::kUnsupported ? 501 : 400,
                  parsed.error().message);
  }
  return admit();
}

bool HttpConnection::is_for_us() {
  const bool allows_origin = server_.handler->allows_origin(request_);
  std::optional<std::string> why = server_.options.security.hosts.refuse(request_, allows_origin);
  if (!why) return true;
  server_.metrics.refused(Refusal::kOtherSite);
  begin_write(server_.handler->error(403, *why, request_.header("content-type")), false);
  return false;
}

// The value of WWW-Authenticate.
std::string HttpConnection::challenge() const {
  const std::string& file = server_.options.security.named_token_file;
  std::string text = "Bearer realm=\"fathom\"";
  const bool can_be_quoted =
      std::ranges::all_of(file, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  if (server_.is_of_this_host && !file.empty() && can_be_quoted) text += ", token_file=\"" + file + "\"";
  return text;
}

// Such a request has no token on purpose, so it is not counted as refused.
bool HttpConnection::name_token_file() {
  HttpResponse response = server_.handler->error(401, "a token is needed", request_.header("content-type"));
  response.headers.emplace_back("WWW-Authenticate", challenge());
  begin_write(std::move(response), wants_keep_alive_ && request_.content_length == 0);
  return false;
}

bool HttpConnection::is_let_in() {
  request_.peer = peer_;
  const auto& tokens = server_.options.security.tokens;
  if (!tokens || (server_.is_of_this_host && request_.path == "/metrics")) return true;
  if (request_.path == kTokenFilePath) return name_token_file();
  const std::optional<Scope> scope = server_.handler->scope_of(request_);
  if (!scope) return true;
  const Admission admission =
      tokens->admit({server_.options.listener, peer_, *scope}, request_.header("authorization"));
  request_.token_name = admission.token_name;
  if (!admission.why_not) return true;
  const int status = admission.is_known() ? 403 : 401;
  HttpResponse response = server_.handler->error(status, *admission.why_not, request_.header("content-type"));
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", challenge());
  server_.metrics.refused(Refusal::kNoToken);
  // Without a body the next request follows at once: a client that finds its token sends it over this connection.
  begin_write(std::move(response), wants_keep_alive_ && request_.content_length == 0);
  return false;
}

bool HttpConnection::admit() {
  if (!is_for_us() || !is_let_in()) return true;
  if (auto refusal = server_.handler->admit(request_)) {
    if (refusal->status >= 400) server_.metrics.refused(Refusal::kNotAdmitted);  // a preflight's answer is none
    begin_write(*std::move(refusal), false);
    return true;
  }
  uint64_t limit = server_.handler->body_limit(request_);
  if (request_.content_length.value_or(0) > limit) {
    return explain(Refusal::kBodyTooLarge, 413, "the body is larger than " + std::to_string(limit) + " bytes");
  }
  parser_->body_limit(limit);
  parser_->eager(true);
  phase_start_ = Clock::now();
  granted_body_ = 0;
  state_ = State::kBody;
  return expect_continue();
}

bool HttpConnection::expect_continue() {
  std::string_view expectation = request_.header("expect");
  if (expectation.empty() || parser_->is_done()) return true;
  if (!boost::beast::iequals({expectation.data(), expectation.size()}, "100-continue")) {
    return explain(Refusal::kMalformed, 417, "the only expectation that can be met is 100-continue");
  }
  continue_pending_ = true;
  asio::async_write(socket_, asio::buffer(kContinue),
                    [self = shared_from_this()](boost::system::error_code fault, size_t) {
                      self->continue_pending_ = false;
                      if (self->state_ == State::kClosed) return;
                      if (fault) return self->close();
                      self->state_ == State::kWriting ? self->write_more() : self->advance();
                    });
  return true;
}

bool HttpConnection::parse_body() {
  if (parser_->is_done()) return on_body();
  if (!grant_body()) return explain(Refusal::kMemory, 503, "there is no memory for this request now; try again");
  boost::system::error_code fault;
  if (buffer_.size() > 0) buffer_.consume(parser_->put(buffer_.data(), fault));
  if (parser_->is_done()) return on_body();
  if (fault == http::error::body_limit) {
    uint64_t limit = server_.handler->body_limit(request_);
    return explain(Refusal::kBodyTooLarge, 413, "the body is larger than " + std::to_string(limit) + " bytes");
  }
  if (fault && fault != http::error::need_more)
    return explain(Refusal::kMalformed, 400, "bad body: " + fault.message());
  // What stays unparsed is part of a chunk's header; a long one is an attack.
  if (buffer_.size() > server_.options.max_header_bytes)
    return explain(Refusal::kMalformed, 400, "bad body: a chunk's header is too long");
  set_body_pace(parser_->get().body().size());
  read_more();
  return false;
}

// Bytes are asked for when they are here and before they are parsed, in steps of one read: a peer that promises much
// and sends little takes little. What follows the body in the buffer is the next request's.
bool HttpConnection::grant_body() {
  uint64_t whole = request_.content_length.value_or(UINT64_MAX);
  uint64_t needed = std::min<uint64_t>(whole, parser_->get().body().size() + buffer_.size());
  while (granted_body_ < needed) {
    uint64_t step = std::min<uint64_t>(kBodyRead, whole - granted_body_);
    if (!server_.handler->grow_body(request_, step)) return false;
    granted_body_ += step;
  }
  return true;
}

bool HttpConnection::on_body() {
  request_.body = std::move(parser_->get().body());
  parser_.reset();
  state_ = State::kHandling;
  set_deadline(Clock::time_point::max());
  HttpRespond respond = responder();  // first, for it looks at the request
  server_.handler->handle(std::move(request_), std::move(respond));
  request_ = HttpRequest{};
  return true;
}

bool HttpConnection::linger() {
  lingered_ += buffer_.size();
  buffer_.consume(buffer_.size());
  if (lingered_ > kLingerBytes) {
    close();
  } else {
    read_more();
  }
  return false;
}

size_t HttpConnection::read_size() const {
  bool large = state_ == State::kBody || state_ == State::kLinger;
  return large ? kBodyRead : kSmallRead;
}

void HttpConnection::read_more() {
  if (reading_) return;
  if (peer_done_) return end_of_input();
  reading_ = true;
  chunk_.resize(read_size());
  if (chunk_.capacity() > 2 * chunk_.size()) chunk_.shrink_to_fit();
  if (in_request()) acknowledge_at_once(socket_);
  socket_.async_read_some(asio::buffer(chunk_),
                          [self = shared_from_this()](boost::system::error_code fault, size_t bytes) {
                            self->reading_ = false;
                            self->on_read(fault, bytes);
                          });
}

void HttpConnection::on_read(boost::system::error_code fault, size_t bytes) {
  if (state_ == State::kClosed) return;
  if (fault) return on_peer_gone(fault);
  buffer_.commit(asio::buffer_copy(buffer_.prepare(bytes), asio::buffer(chunk_.data(), bytes)));
  advance();
}

// A peer that closed its sending side may be gone or may wait for its answer; which, nobody can tell. It gets the
// answer when that is ready soon, and is taken for gone then.
void HttpConnection::on_peer_gone(boost::system::error_code fault) {
  peer_done_ = true;
  if (fault == asio::error::eof) return end_of_input();
  if (in_request()) server_.metrics.refused(Refusal::kCutOff);  // nobody is there to be told
  close();
}

void HttpConnection::end_of_input() {
  constexpr std::string_view kTooEarly = "the request ended too early";
  if (state_ == State::kHeader) {
    refuse(Refusal::kCutOff, 400, kTooEarly);
  } else if (state_ == State::kBody) {
    explain(Refusal::kCutOff, 400, kTooEarly);
  } else if (!is_answering()) {
    close();
  } else if (state_ == State::kHandling) {
    set_deadline(Clock::now() + kHalfClosedGrace);
  }
}

void HttpConnection::begin_drain() {
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->drain_ = true;
    if (self->state_ == State::kIdle && self->buffer_.size() == 0) self->close();
  });
}

void HttpConnection::abort() {
  asio::post(socket_.get_executor(), [self = shared_from_this()] { self->close(); });
}

}  // namespace fathom::net
