// The token of a server on this host, found without configuration.
//
// Purpose: a server that made its own token file (query_token.h) names the file when a request lacks a token. The
// command line reads it, if it is certain that the server's user owns both the file and the listening socket. So
// another user's program that listens at this port gets no token but its own. Thread safety: plain functions.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "net/http_client.h"

namespace fathom::cli {

// The file that a server named in its answer 401; nothing: none.
std::optional<std::string> named_token_file(const net::HttpReply& reply);

// Whether the file belongs to the user of every socket that listens at the port of `server`, and nobody else can write
// it. `server`: "http://HOST:PORT". False for a server on another host.
bool is_token_of_listener(const std::string& file, const std::string& server);

// Sends by `plain`. If the server asks for a token and names its file, sends again with it, and so from then on.
// `reconnect`: what sends with the token of a file.
template <typename Send>
Send with_local_token(Send plain, const std::string& server,
                      std::function<Send(const std::string& token_file)> reconnect) {
  return [send = std::move(plain), server, reconnect = std::move(reconnect)](auto... words) mutable {
    Result<net::HttpReply> reply = send(words...);
    if (!reply || reply->status != 401 || !reconnect) return reply;
    const std::optional<std::string> file = named_token_file(*reply);
    if (!file || !is_token_of_listener(*file, server)) return reply;
    send = std::exchange(reconnect, nullptr)(*file);
    return send(words...);
  };
}

}  // namespace fathom::cli
