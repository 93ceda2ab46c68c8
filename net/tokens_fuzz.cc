// Files of tokens of any bytes: either an error that names the file and has nothing of a token in it, or tokens that
// can be sent in a header, and come out the same when they are written down and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "net/tokens.h"

namespace {

void require(bool fine) {
  if (!fine) std::abort();
}

void check(const std::string& token) {
  require(token.size() >= 16);
  for (char byte : token) require(byte > ' ' && byte < '\x7f' && byte != ':');
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using fathom::net::parse_tokens, fathom::net::Scopes, fathom::net::Token;
  const auto tokens = parse_tokens("f", {reinterpret_cast<const char*>(data), size});
  if (!tokens) {
    require(tokens.error().message.starts_with("f:") || tokens.error().message.starts_with("'f'"));
    require(tokens.error().message.size() < 200);
    return 0;
  }
  require(!tokens->empty());
  std::string text;
  for (const Token& token : *tokens) {
    check(token.text);
    require(token.scopes != Scopes());
    text += token.name + ":" + token.text + " " + token.scopes.text() + "\n";
  }
  require(*parse_tokens("f", text) == *tokens);
  return 0;
}
