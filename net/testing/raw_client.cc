#include "net/testing/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "net/http_server.h"

namespace fathom::net::testing {

RawClient::RawClient(std::string_view address) {
  auto parts = split_address(address);
  if (!parts) return;
  fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  timeval patience{.tv_sec = 20, .tv_usec = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  sockaddr_in peer{};
  peer.sin_family = AF_INET;
  peer.sin_port = htons(parts->second);
  ::inet_pton(AF_INET, parts->first.c_str(), &peer.sin_addr);
  if (::connect(fd_, reinterpret_cast<sockaddr*>(&peer), sizeof peer) == 0) return;
  ::close(fd_);
  fd_ = -1;
}

RawClient::RawClient(RawClient&& other) noexcept : fd_(std::exchange(other.fd_, -1)), kept_(std::move(other.kept_)) {}

RawClient::~RawClient() {
  if (fd_ >= 0) ::close(fd_);
}

bool RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

void RawClient::finish_sending() {
  ::shutdown(fd_, SHUT_WR);
}

void RawClient::reset() {
  linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  ::close(std::exchange(fd_, -1));
}

bool RawClient::read_some() {
  char buffer[16 * 1024];
  ssize_t got = ::recv(fd_, buffer, sizeof buffer, 0);
  if (got <= 0) return false;
  kept_.append(buffer, static_cast<size_t>(got));
  return true;
}

std::string RawClient::read_until(std::string_view mark) {
  size_t found = kept_.find(mark);
  while (found == std::string::npos && read_some()) found = kept_.find(mark);
  size_t size = found == std::string::npos ? kept_.size() : found + mark.size();
  std::string out = kept_.substr(0, size);
  kept_.erase(0, size);
  return out;
}

std::string RawClient::read_all() {
  while (read_some()) {
  }
  return std::exchange(kept_, {});
}

std::string RawClient::read_answer(bool has_body) {
  std::string answer = read_until("\r\n\r\n");
  size_t field = answer.find("Content-Length: ");
  if (!has_body || field == std::string::npos) return answer;
  size_t size = std::strtoull(answer.c_str() + field + 16, nullptr, 10);
  while (kept_.size() < size && read_some()) {
  }
  answer += kept_.substr(0, size);
  kept_.erase(0, std::min(size, kept_.size()));
  return answer;
}

int status_of(std::string_view answer) {
  if (!answer.starts_with("HTTP/1.1 ")) return 0;
  return std::atoi(std::string(answer.substr(9, 3)).c_str());
}

std::string body_of(std::string_view answer) {
  size_t end = answer.find("\r\n\r\n");
  return end == std::string_view::npos ? std::string() : std::string(answer.substr(end + 4));
}

}  // namespace fathom::net::testing
