#include "net/http_client.h"

#include <boost/asio/io_context.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>

#include "net/address.h"
#include "net/http_text.h"

namespace fathom::net {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

constexpr uint64_t kMaxReplyBytes = uint64_t{1} << 30;

Result<std::string> address_of(std::string_view url) {
  if (url.starts_with("https://")) return invalid("'" + std::string(url) + "': only http:// is spoken here");
  if (url.starts_with("http://")) url.remove_prefix(7);
  url = url.substr(0, url.find('/'));
  std::string address(url);
  bool has_port = address.rfind(':') != std::string::npos && !address.ends_with(']');
  return has_port ? address : address + ":80";
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
  asio::io_context context;
  beast::tcp_stream stream{context};
  beast::flat_buffer buffer;
  bool connected = false;

  using Request = http::request<http::string_body>;

  Error fault_of(const beast::error_code& fault) const {
    if (fault == beast::error::timeout) {
      return {ErrorCode::kDeadline,
              "no answer from " + url + " within " + std::to_string(timeout_nano / 1'000'000) + " ms"};
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
    auto address = address_of(url);
    if (!address) return address.error();
    auto endpoint = resolve(*address);
    if (!endpoint) return endpoint.error();
    stream.expires_after(std::chrono::nanoseconds(timeout_nano));
    beast::error_code fault;
    stream.async_connect(*endpoint, [&fault](beast::error_code outcome) { fault = outcome; });
    run();
    if (fault) return fault_of(fault);
    beast::error_code ignored;
    stream.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
    connected = true;
    return {};
  }

  beast::error_code write(Request& request) {
    beast::error_code fault;
    http::async_write(stream, request, [&fault](beast::error_code outcome, size_t) { fault = outcome; });
    run();
    return fault;
  }

  Result<HttpReply> read(bool head) {
    http::response_parser<http::string_body> parser;
    parser.body_limit(kMaxReplyBytes);
    parser.skip(head);
    beast::error_code fault;
    http::async_read(stream, buffer, parser, [&fault](beast::error_code outcome, size_t) { fault = outcome; });
    run();
    bool keep = !fault && parser.get().keep_alive();
    auto message = parser.release();
    if (!keep) drop();
    if (fault) return fault_of(fault);
    return reply_of(std::move(message));
  }

  Result<HttpReply> call(Request request) {
    auto address = address_of(url);
    if (!address) return address.error();
    request.set(http::field::host, *address);
    request.set(http::field::user_agent, "fathom");
    request.prepare_payload();
    if (auto ready = connect(); !ready) return ready.error();
    stream.expires_after(std::chrono::nanoseconds(timeout_nano));
    beast::error_code written = write(request);
    if (written == beast::error::timeout) {
      drop();
      return fault_of(written);
    }
    // A server that refuses early answers before it has taken everything: the answer says more than the broken pipe.
    return read(request.method() == http::verb::head);
  }
};

HttpClient::HttpClient(std::string url, uint64_t timeout_nano)
    : impl_(new Impl{.url = std::move(url), .timeout_nano = timeout_nano}) {}

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
