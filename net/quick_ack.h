// Acknowledges received TCP segments at once, instead of up to 40 ms later.
//
// Purpose: a client without TCP_NODELAY that sends a request's header and body with separate calls holds the body back
// until the header's segment is acknowledged (Nagle's algorithm), and Linux delays that acknowledgement in the hope of
// sending it with an answer. Linux forgets the option, so it is set before each read that continues a request.
// Thread safety: as the socket's. Errors: ignored; without the option the request is only slower.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/ip/tcp.hpp>

namespace fathom::net {

inline void acknowledge_at_once(boost::asio::ip::tcp::socket& socket) {
  const int on = 1;
  ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
}

}  // namespace fathom::net
