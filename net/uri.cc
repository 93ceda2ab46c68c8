#include "net/uri.h"

#include <algorithm>
#include <cctype>

#include "base/ids.h"
#include "net/http_client.h"

namespace fathom::net {

namespace {

std::string_view without_authority(std::string_view target) {
  for (std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    size_t slash = target.find_first_of("/?", scheme.size());
    return slash == std::string_view::npos ? "/" : target.substr(slash);
  }
  return target;
}

Result<> parse_query(std::string_view text, std::vector<std::pair<std::string, std::string>>& out) {
  while (!text.empty()) {
    std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    if (pair.empty()) continue;
    size_t equals = pair.find('=');
    auto key = percent_decode(pair.substr(0, equals), true);
    auto value = percent_decode(equals == std::string_view::npos ? "" : pair.substr(equals + 1), true);
    if (!key) return key.error();
    if (!value) return value.error();
    out.emplace_back(*std::move(key), *std::move(value));
  }
  return {};
}

}  // namespace

Result<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(plus_is_space && text[i] == '+' ? ' ' : text[i]);
      continue;
    }
    uint8_t byte = 0;
    if (!from_hex(text.substr(i + 1, 2), &byte, 1)) return invalid("the address has a '%' without two hex digits");
    out.push_back(static_cast<char>(byte));
    i += 2;
  }
  return out;
}

Result<Target> parse_target(std::string_view text) {
  Target target;
  if (text == "*") {
    target.path = "*";
    return target;
  }
  text = without_authority(text);
  if (text.empty() || (text[0] != '/' && text[0] != '?')) return invalid("the address must begin with '/'");
  text = text.substr(0, text.find('#'));
  size_t question = text.find('?');
  auto path = percent_decode(text.substr(0, question), false);
  if (!path) return path.error();
  target.path = path->empty() ? "/" : *std::move(path);
  if (question == std::string_view::npos) return target;
  if (auto parsed = parse_query(text.substr(question + 1), target.query); !parsed) return parsed.error();
  return target;
}

std::string percent_encode(std::string_view text) {
  std::string out;
  for (char c : text) {
    bool safe =
        std::isalnum(static_cast<unsigned char>(c)) || std::string_view("-._~").find(c) != std::string_view::npos;
    if (safe && static_cast<unsigned char>(c) < 0x80) {
      out.push_back(c);
    } else {
      out += "%" + to_hex({&c, 1});
    }
  }
  return out;
}

}  // namespace fathom::net
