// Addresses of listeners and peers, as text and as endpoints.
//
// Thread safety: plain functions. Errors: kInvalid for text that cannot be an address, kUnavailable for a name that
// does not resolve or cannot be had; messages name the address.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fathom::net {

// How long a listener waits after it could not accept a connection.
inline constexpr auto kAcceptPause = std::chrono::milliseconds(100);

Result<boost::asio::ip::tcp::endpoint> resolve(std::string_view address);
// Binds and listens; the bound "HOST:PORT". The message names the address and the cure; `acceptor` is closed then.
Result<std::string> listen_on(boost::asio::ip::tcp::acceptor& acceptor, std::string_view address);
// What listen_on() says of an address that somebody else (gRPC) could not listen on, without a word why.
std::string why_not_listening(std::string_view address);
bool is_loopback(std::string_view address);                                 // whether "HOST:PORT" is of this host alone
std::string endpoint_text(const boost::asio::ip::tcp::endpoint& endpoint);  // "127.0.0.1:80", "[::1]:80"

}  // namespace fathom::net
