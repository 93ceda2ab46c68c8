#include "net/local_token.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <boost/asio/ip/address.hpp>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "net/http_client.h"
#include "net/tokens.h"

namespace fathom::net {

namespace {

namespace ip = boost::asio::ip;

constexpr std::string_view kNames = "token_file=\"";
constexpr std::string_view kEstablished = "01";
constexpr size_t kMostTokenBytes = 4096;

std::optional<std::string> named_file(const HttpReply& reply) {
  for (const auto& [name, value] : reply.headers) {
    if (name != "www-authenticate") continue;
    const size_t begin = value.find(kNames);
    if (begin == std::string::npos) continue;
    const size_t from = begin + kNames.size();
    const size_t end = value.find('"', from);
    if (end != std::string::npos && value[from] == '/') return value.substr(from, end - from);
  }
  return std::nullopt;
}

// As /proc/net/tcp and tcp6 write it: words of the address in memory order, and the port.
template <size_t kSize>
std::string text_of(const std::array<unsigned char, kSize>& address, uint16_t port) {
  std::string text;
  std::array<char, 16> piece;
  for (size_t at = 0; at < kSize; at += 4) {
    uint32_t word = 0;
    std::memcpy(&word, address.data() + at, sizeof word);
    std::snprintf(piece.data(), piece.size(), "%08X", word);
    text += piece.data();
  }
  std::snprintf(piece.data(), piece.size(), ":%04X", port);
  return text + piece.data();
}

std::string text4(const ip::tcp::endpoint& endpoint) {
  return text_of(endpoint.address().to_v4().to_bytes(), endpoint.port());
}

// A listener of both families has an address of version 4 in this form.
std::string text6(const ip::tcp::endpoint& endpoint) {
  const ip::address address = endpoint.address();
  const auto mapped = address.is_v4() ? ip::make_address_v6(ip::v4_mapped, address.to_v4()) : address.to_v6();
  return text_of(mapped.to_bytes(), endpoint.port());
}

// Of the connected socket with these ends, if the table has it. A line: number, local address, remote address, state,
// queues, timer, retransmits, user, ...
std::optional<uid_t> user_in(const char* table, const std::string& local, const std::string& remote) {
  std::ifstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<std::string> fields;
    for (std::string word; fields.size() < 8 && words >> word;) fields.push_back(word);
    if (fields.size() < 8 || fields[1] != local || fields[2] != remote || fields[3] != kEstablished) continue;
    uid_t user = 0;
    const char* end = fields[7].data() + fields[7].size();
    if (std::from_chars(fields[7].data(), end, user).ptr == end) return user;
  }
  return std::nullopt;
}

// Who has the other end of the connection.
std::optional<uid_t> user_of_peer(const ip::tcp::socket& socket) {
  boost::system::error_code fault, other;
  const ip::tcp::endpoint theirs = socket.remote_endpoint(fault), ours = socket.local_endpoint(other);
  if (fault || other) return std::nullopt;
  if (theirs.address().is_v4()) {
    if (const auto user = user_in("/proc/net/tcp", text4(theirs), text4(ours))) return user;
  }
  return user_in("/proc/net/tcp6", text6(theirs), text6(ours));
}

LocalToken not_sent(const std::string& file, const std::string& why) {
  return {.text = "", .why_not = "the server names the token file " + file + ", which was not used: " + why};
}

// What was opened is looked at, and not its name again: that may lead to another file by then.
LocalToken read_file(const std::string& path, uid_t user) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.open()) return not_sent(path, std::strerror(errno));
  struct stat about {};
  if (::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return not_sent(path, "it is no file");
  if (about.st_uid != user) return not_sent(path, "another user than its owner runs the server at this port");
  if ((about.st_mode & (S_IWGRP | S_IWOTH)) != 0) return not_sent(path, "others can write to it");
  std::string text(kMostTokenBytes, '\0');
  const ssize_t size = ::read(file.get(), text.data(), text.size());
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  const auto tokens = parse_tokens(path, text);
  return tokens ? LocalToken{tokens->front().text, ""} : not_sent(path, tokens.error().message);
}

}  // namespace

LocalToken local_token(const HttpReply& reply, const ip::tcp::socket& socket) {
  const std::optional<std::string> file = named_file(reply);
  if (!file) return {};
  const std::optional<uid_t> user = user_of_peer(socket);
  if (!user) return not_sent(*file, "it is not known which user runs the server at this port");
  return read_file(*file, *user);
}

}  // namespace fathom::net
