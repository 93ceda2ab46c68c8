#include "net/http_client.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <optional>

#include "net/address.h"
#include "net/http_server.h"
#include "net/http_text.h"
#include "net/local_token.h"
#include "net/tls_client_stream.h"

namespace fathom::net {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

constexpr uint64_t kMaxReplyBytes = uint64_t{1} << 30;

constexpr std::string_view kPlain = "http://";
constexpr std::string_view kSecure = "https://";

bool is_secure(std::string_view url) {
  return url.starts_with(kSecure);
}

std::string address_of(std::string_view url) {
  const std::string default_port = is_secure(url) ? ":443" : ":80";
  for (std::string_view scheme : {kPlain, kSecure}) {
    if (url.starts_with(scheme)) url.remove_prefix(scheme.size());
  }
  std::string address(url.substr(0, url.find('/')));
  bool has_port = address.rfind(':') != std::string::npos && !address.ends_with(']');
  return has_port ? address : address + default_port;
}

HttpReply reply_of(http::response<http::string_body>&& message) {
  HttpReply reply;
  reply.status = static_cast<int>(message.result_int());
  for (const auto& field : message) {
    reply.headers.emplace_back(lower_case(view(field.name_string())), view(field.value()));
  }
  reply.body = std::move(message.body());
  return reply;
}

}  // namespace

struct HttpClient::Impl {
  std::string url;
  uint64_t timeout_nano;
  ClientSecurity security;
  asio::io_context context;
  beast::tcp_stream stream{context};
  std::unique_ptr<TlsClient> tls;  // about `stream`; null: plain
  std::string token;
  LocalToken found_token;  // of this connection, and of no other
  beast::flat_buffer buffer;
  bool connected = false;

  using Request = http::request<http::string_body>;

  Error fault_of(const beast::error_code& fault) const {
    if (fault == beast::error::timeout) {
      return {ErrorCode::kDeadline,
              "no answer from " + url + " within " + std::to_string(timeout_nano / 1'000'000) + " ms"};
    }
    if (tls && fault != http::error::end_of_stream) {
      if (std::string why = tls->explain(fault); !why.empty()) return unavailable(url + ": " + why);
    }
    bool foreign = fault.category() == make_error_code(http::error::bad_version).category() &&
                   fault != http::error::end_of_stream && fault != http::error::partial_message;
    if (foreign) return corrupt("what answers at " + url + " does not speak HTTP/1; is another of the ports meant?");
    return unavailable("cannot talk to " + url + ": " + fault.message() +
                       "; is fathom running there? ('fathom up' starts it)");
  }

  // The stream's own timer ends the operation that is under way, so this returns.
  void run() {
    context.restart();
    context.run();
  }

  void drop() {
    stream.close();
    buffer.consume(buffer.size());
    connected = false;
    found_token = {};
    tls.reset();
  }

  // A kept connection that the other side has closed meanwhile is readable, with nothing or an error to read.
  bool stale() {
    char byte = 0;
    beast::error_code fault;
    stream.socket().non_blocking(true, fault);
    if (fault) return true;
    stream.socket().receive(asio::buffer(&byte, 1), asio::socket_base::message_peek, fault);
    return fault != asio::error::would_block;
  }

  Result<> connect() {
    if (connected && !stale()) return {};
    drop();
    const std::string address = address_of(url);
    auto endpoint = resolve(address);
    if (!endpoint) return endpoint.error();
    if (is_secure(url)) {
      auto made = TlsClient::make(stream, split_address(address)->first, security);
      if (!made) return made.error();
      tls = *std::move(made);
    }
    stream.expires_after(std::chrono::nanoseconds(timeout_nano));
    beast::error_code fault;
    stream.async_connect(*endpoint, [&fault](beast::error_code outcome) { fault = outcome; });
    run();
    if (fault) return fault_of(fault);
    beast::error_code ignored;
    stream.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
    if (tls) fault = shake_hands();
    if (fault) {
      const Error why = fault_of(fault);
      drop();
      return why;
    }
    connected = true;
    if (security.finds_token && security.token_file.empty() && !tls && is_loopback(address)) find_token();
    return connected ? Result<>() : reconnect(*endpoint);
  }

  // Of a server that closes connections after an answer 401, as earlier versions do. It names no token.
  Result<> reconnect(const asio::ip::tcp::endpoint& endpoint) {
    beast::error_code fault;
    stream.expires_after(std::chrono::nanoseconds(timeout_nano));
    stream.async_connect(endpoint, [&fault](beast::error_code outcome) { fault = outcome; });
    run();
    if (fault) return fault_of(fault);
    connected = true;
    return {};
  }

  void find_token() {
    Request request{http::verb::head, kTokenFilePath, 11};
    request.set(http::field::host, address_of(url));
    stream.expires_after(std::chrono::nanoseconds(timeout_nano));
    if (write(request)) return drop();
    const Result<HttpReply> reply = read(true);
    if (reply && reply->status == 401 && connected) found_token = local_token(*reply, stream.socket());
  }

  beast::error_code shake_hands() {
    beast::error_code fault;
    tls->stream().async_handshake(asio::ssl::stream_base::client,
                                  [&fault](beast::error_code outcome) { fault = outcome; });
    run();
    return fault;
  }

  // Reads and writes are the same on either; what differs is their type.
  template <typename Act>
  void on_stream(Act act) {
    tls ? act(tls->stream()) : act(stream);
    run();
  }

  Result<> read_token() {
    if (security.token_file.empty() || !token.empty()) return {};
    Result<std::string> first = first_token(security);
    if (!first) return first.error();
    token = *first;
    return {};
  }

  beast::error_code write(Request& request) {
    beast::error_code fault;
    on_stream([&](auto& to) {
      http::async_write(to, request, [&fault](beast::error_code outcome, size_t) { fault = outcome; });
    });
    return fault;
  }

  Result<HttpReply> read(bool head) {
    http::response_parser<http::string_body> parser;
    parser.body_limit(kMaxReplyBytes);
    parser.skip(head);
    beast::error_code fault;
    on_stream([&](auto& from) {
      http::async_read(from, buffer, parser, [&fault](beast::error_code outcome, size_t) { fault = outcome; });
    });
    bool keep = !fault && parser.get().keep_alive();
    auto message = parser.release();
    std::optional<Error> why;
    if (fault) why = fault_of(fault);
    if (!keep) drop();
    if (why) return *why;
    return reply_of(std::move(message));
  }

  Result<HttpReply> call(Request request) {
    const std::string address = address_of(url);
    if (auto parts = split_address(address); !parts) return parts.error();
    request.set(http::field::host, address);
    request.set(http::field::user_agent, "fathom");
    if (auto read = read_token(); !read) return read.error();
    if (auto ready = connect(); !ready) return ready.error();
    const std::string& sent = token.empty() ? found_token.text : token;
    if (!sent.empty()) request.set(http::field::authorization, "Bearer " + sent);
    request.prepare_payload();
    const std::string why_no_token = found_token.why_not;
    stream.expires_after(std::chrono::nanoseconds(timeout_nano));
    beast::error_code written = write(request);
    if (written == beast::error::timeout) {
      const Error why = fault_of(written);
      drop();
      return why;
    }
    // A server that refuses early answers before it has taken everything: the answer says more than the broken pipe.
    Result<HttpReply> reply = read(request.method() == http::verb::head);
    if (reply && reply->status == 401) reply->why_no_token = why_no_token;
    return reply;
  }
};

HttpClient::HttpClient(std::string url, uint64_t timeout_nano, ClientSecurity security)
    : impl_(new Impl{.url = std::move(url), .timeout_nano = timeout_nano, .security = std::move(security)}) {}

HttpClient::~HttpClient() = default;

Result<HttpReply> HttpClient::get(std::string_view target) {
  return impl_->call({http::verb::get, beast::string_view(target.data(), target.size()), 11});
}

Result<HttpReply> HttpClient::post(std::string_view target, std::string_view content_type, std::string_view body,
                                   const std::vector<std::pair<std::string, std::string>>& headers) {
  Impl::Request request{http::verb::post, beast::string_view(target.data(), target.size()), 11, std::string(body)};
  request.set(http::field::content_type, beast::string_view(content_type.data(), content_type.size()));
  for (const auto& [name, value] : headers) request.set(name, value);
  return impl_->call(std::move(request));
}

Result<HttpReply> HttpClient::put(std::string_view target, std::string_view content_type, std::string_view body) {
  Impl::Request request{http::verb::put, beast::string_view(target.data(), target.size()), 11, std::string(body)};
  request.set(http::field::content_type, beast::string_view(content_type.data(), content_type.size()));
  return impl_->call(std::move(request));
}

}  // namespace fathom::net
