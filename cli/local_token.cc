#include "cli/local_token.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <ranges>
#include <sstream>
#include <string_view>
#include <vector>

#include "net/address.h"

namespace fathom::cli {

namespace {

constexpr std::string_view kNames = "token_file=\"";
constexpr std::string_view kListening = "0A";

// "HOST:PORT" of an "http://" URL of this host; nothing: it is another one.
std::optional<std::string> local_address(std::string_view server) {
  constexpr std::string_view kScheme = "http://";
  if (server.starts_with(kScheme)) server.remove_prefix(kScheme.size());
  const std::string address(server);
  if (!net::is_loopback(address)) return std::nullopt;
  return address;
}

std::optional<uint32_t> number_at(std::string_view text, int base) {
  uint32_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// A line of /proc/net/tcp: number, local address, remote address, state, queues, timer, retransmits, user, ...
void add_listener(const std::string& line, uint32_t port, std::vector<uint32_t>& users) {
  std::istringstream words(line);
  std::vector<std::string> fields;
  for (std::string word; fields.size() < 8 && words >> word;) fields.push_back(word);
  if (fields.size() < 8 || fields[3] != kListening) return;
  const size_t colon = fields[1].rfind(':');
  if (colon == std::string::npos || number_at(std::string_view(fields[1]).substr(colon + 1), 16) != port) return;
  if (const auto user = number_at(fields[7], 10)) users.push_back(*user);
}

std::vector<uint32_t> users_that_listen(uint32_t port) {
  std::vector<uint32_t> users;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream lines(table);
    for (std::string line; std::getline(lines, line);) add_listener(line, port, users);
  }
  return users;
}

}  // namespace

std::optional<std::string> named_token_file(const net::HttpReply& reply) {
  for (const auto& [name, value] : reply.headers) {
    if (name != "www-authenticate") continue;
    const size_t begin = value.find(kNames);
    if (begin == std::string::npos) continue;
    const size_t from = begin + kNames.size();
    const std::string file = value.substr(from, value.find('"', from) - from);
    if (file.starts_with('/')) return file;
  }
  return std::nullopt;
}

bool is_token_of_listener(const std::string& file, const std::string& server) {
  const std::optional<std::string> address = local_address(server);
  if (!address) return false;
  const auto port = number_at(std::string_view(*address).substr(address->rfind(':') + 1), 10);
  struct stat about {};
  if (!port || ::stat(file.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) return false;
  if ((about.st_mode & (S_IWGRP | S_IWOTH)) != 0 || ::access(file.c_str(), R_OK) != 0) return false;
  const std::vector<uint32_t> users = users_that_listen(*port);
  return !users.empty() && std::ranges::all_of(users, [&](uint32_t user) { return user == about.st_uid; });
}

}  // namespace fathom::cli
