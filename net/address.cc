#include "net/address.h"

#include <boost/asio/io_context.hpp>
#include <charconv>

#include "net/http_server.h"

namespace fathom::net {

namespace {

Error bad_address(std::string_view address) {
  return invalid("'" + std::string(address) +
                 "' is not an address; write HOST:PORT, such as 127.0.0.1:7070 or [::1]:7070");
}

std::string cure_of(const boost::system::error_code& fault) {
  if (fault == boost::asio::error::address_in_use) {
    return "; another program has this port: stop it (ss -ltnp names it), or choose another port";
  }
  if (fault == boost::system::errc::address_not_available) {
    return "; this host has no such address: take one of its own (ip address), or 0.0.0.0 for all of them";
  }
  if (fault == boost::system::errc::permission_denied) return "; ports below 1024 are root's: choose a higher one";
  return "";
}

Error cannot_listen(std::string_view address, const boost::system::error_code& fault) {
  return unavailable("cannot listen on " + std::string(address) + ": " + fault.message() + cure_of(fault));
}

}  // namespace

Result<std::pair<std::string, uint16_t>> split_address(std::string_view address) {
  size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return bad_address(address);
  std::string_view host = address.substr(0, colon);
  std::string_view port_text = address.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']') && host.size() > 2) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find_first_of(":[]") != std::string_view::npos) {
    return bad_address(address);  // an IPv6 address needs its brackets
  }
  uint16_t port = 0;
  auto [end, fault] = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
  bool whole = fault == std::errc() && end == port_text.data() + port_text.size();
  if (host.empty() || port_text.empty() || !whole) return bad_address(address);
  return std::pair(std::string(host), port);
}

Result<boost::asio::ip::tcp::endpoint> resolve(std::string_view address) {
  auto parts = split_address(address);
  if (!parts) return parts.error();
  boost::asio::io_context context;
  boost::asio::ip::tcp::resolver resolver(context);
  boost::system::error_code fault;
  auto found = resolver.resolve(parts->first, std::to_string(parts->second), fault);
  if (fault || found.empty()) {
    return unavailable("cannot find the host of '" + std::string(address) + "': " + fault.message());
  }
  return found.begin()->endpoint();
}

Result<std::string> listen_on(boost::asio::ip::tcp::acceptor& acceptor, std::string_view address) {
  using boost::asio::ip::tcp;
  auto endpoint = resolve(address);
  if (!endpoint) return endpoint.error();
  boost::system::error_code fault;
  acceptor.open(endpoint->protocol(), fault);
  if (!fault) acceptor.set_option(tcp::acceptor::reuse_address(true), fault);
  if (!fault) acceptor.bind(*endpoint, fault);
  if (!fault) acceptor.listen(boost::asio::socket_base::max_listen_connections, fault);
  tcp::endpoint bound = fault ? tcp::endpoint() : acceptor.local_endpoint(fault);
  if (!fault) return endpoint_text(bound);
  boost::system::error_code ignored;
  acceptor.close(ignored);
  return cannot_listen(address, fault);
}

std::string why_not_listening(std::string_view address) {
  boost::asio::io_context context;
  boost::asio::ip::tcp::acceptor acceptor(context);
  Result<std::string> bound = listen_on(acceptor, address);
  return bound ? "cannot listen on " + std::string(address) : bound.error().message;
}

std::string endpoint_text(const boost::asio::ip::tcp::endpoint& endpoint) {
  std::string host = endpoint.address().to_string();
  if (endpoint.address().is_v6()) host = "[" + host + "]";
  return host + ":" + std::to_string(endpoint.port());
}

bool is_loopback(std::string_view address) {
  auto parts = split_address(address);
  if (!parts) return false;
  boost::system::error_code fault;
  const auto host = boost::asio::ip::make_address(parts->first, fault);
  return fault ? parts->first == "localhost" : host.is_loopback();
}

}  // namespace fathom::net
