// The token of a server on this host, found without configuration.
//
// Purpose: a server that made its own token file names the file when a request lacks a token. A client may read it, but
// any user of the host can listen at a port and name any file. So the token is sent only over a connection whose other
// end belongs to the user who owns the file. Thread safety: a plain function. Errors: in `why_not`, for people.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string>

namespace fathom::net {

struct HttpReply;

// HEAD of it is answered 401 with the name of the file, if there is one, and is not counted as a refusal.
inline constexpr const char* kTokenFilePath = "/api/v1/token-file";

struct LocalToken {
  std::string text;     // empty: none
  std::string why_not;  // empty: the server named no file, or the token is there
};

// `reply`: the server's answer to kTokenFilePath over `socket`, which is still connected. The server has accepted the
// connection by then, so the kernel knows the user of its end.
LocalToken local_token(const HttpReply& reply, const boost::asio::ip::tcp::socket& socket);

}  // namespace fathom::net
