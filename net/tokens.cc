#include "net/tokens.h"

#include <openssl/crypto.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/log.h"
#include "base/metrics.h"
#include "base/small_file.h"
#include "base/trim.h"

namespace fathom::net {

namespace {

constexpr size_t kLeastTokenBytes = 16;
constexpr std::array<std::string_view, 3> kReasonNames = {"missing", "wrong", "scope"};
constexpr std::string_view kScheme = "bearer ";
constexpr std::string_view kHowToSend = "'authorization: Bearer TOKEN'";
constexpr std::string_view kUnnamed = "unnamed";

Counter& refused(std::string_view listener, std::string_view reason) {
  return counter("fathom_auth_refused_total",
                 "Requests and calls that came without a token that may do what they ask for.",
                 label("listener", listener) + "," + label("reason", reason));
}

bool is_token(std::string_view text) {
  return text.size() >= kLeastTokenBytes &&
         std::all_of(text.begin(), text.end(), [](char byte) { return byte > ' ' && byte < '\x7f'; });
}

bool has_scheme(std::string_view authorization) {
  return authorization.size() > kScheme.size() &&
         std::equal(kScheme.begin(), kScheme.end(), authorization.begin(),
                    [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b + ('a' - 'A') : b); });
}

void warn_if_public(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0 || (about.st_mode & S_IROTH) == 0) return;
  log_warning("everybody on this host can read the tokens in '" + path + "'; chmod o= " + path);
}

Error bad_line(const std::string& path, size_t number) {
  return invalid(path + ":" + std::to_string(number) + ": a line is TOKEN or NAME:TOKEN, the token " +
                 std::to_string(kLeastTokenBytes) + " visible characters at least; make one: openssl rand -hex 32");
}

Error bad_scopes(const std::string& path, size_t number) {
  return invalid(path + ":" + std::to_string(number) +
                 ": after the token, a line may list scopes, as in 'query,control': " + Scopes::all().text());
}

// `line` is trimmed, and not empty.
Result<Token> parse_line(const std::string& path, size_t number, std::string_view line) {
  const size_t colon = line.rfind(':');
  Token token;
  if (colon != std::string_view::npos) token.name = trimmed(line.substr(0, colon));
  const std::string_view rest = trimmed(line.substr(colon == std::string_view::npos ? 0 : colon + 1));
  const size_t end = std::min(rest.find_first_of(" \t"), rest.size());
  token.text = rest.substr(0, end);
  if (!is_token(token.text)) return bad_line(path, number);
  const std::string_view list = trimmed(rest.substr(end));
  const std::optional<Scopes> scopes = list.empty() ? Scopes::all() : Scopes::of(list);
  if (!scopes) return bad_scopes(path, number);
  token.scopes = *scopes;
  return token;
}

}  // namespace

Result<std::vector<Token>> parse_tokens(const std::string& path, std::string_view text) {
  std::vector<Token> tokens;
  size_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    ++number;
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.empty() || line.front() == '#') continue;
    Result<Token> token = parse_line(path, number, line);
    if (!token) return token.error();
    tokens.push_back(*std::move(token));
  }
  if (tokens.empty()) return invalid("'" + path + "' has no token; make one: openssl rand -hex 32 > " + path);
  return tokens;
}

Result<std::vector<Token>> read_tokens(const std::string& path) {
  Result<std::string> text = read_small_file(path);
  if (!text) return text.error();
  auto tokens = parse_tokens(path, *text);
  if (tokens) warn_if_public(path);
  return tokens;
}

Result<std::shared_ptr<Tokens>> Tokens::load(const std::string& path) {
  std::shared_ptr<Tokens> tokens(new Tokens(path));
  Result<KnownTokens> known = tokens->read();
  if (!known) return known.error();
  tokens->use(*std::move(known));
  return tokens;
}

Result<Tokens::KnownTokens> Tokens::read() const {
  Result<std::vector<Token>> tokens = read_tokens(path_);
  if (!tokens) return tokens.error();
  KnownTokens known;
  for (Token& token : *tokens) {
    std::string name = token.name.empty() ? std::string(kUnnamed) : std::move(token.name);
    known.push_back({sha256(token.text), std::move(name), token.scopes});
  }
  return known;
}

void Tokens::use(KnownTokens tokens) {
  {
    std::lock_guard lock(mutex_);
    tokens_.swap(tokens);
  }
  watchers_.tell();
}

// Compares digests, so that not even the length shows; looks at all, so that it does not show which was met.
std::optional<Tokens::Known> Tokens::find(std::string_view token) const {
  const Sha256 digest = sha256(token);
  std::lock_guard lock(mutex_);
  const Known* found = nullptr;
  for (const Known& one : tokens_) {
    if (CRYPTO_memcmp(one.digest.bytes.data(), digest.bytes.data(), digest.bytes.size()) == 0) found = &one;
  }
  return found == nullptr ? std::nullopt : std::optional(*found);
}

LogPace& Tokens::pace(std::string_view listener, Reason reason) const {
  std::lock_guard lock(mutex_);
  return paces_[std::string(listener)][reason];
}

void Tokens::note(const Caller& caller, Reason reason, const std::string& what) const {
  const std::string name(kReasonNames[reason]);
  refused(caller.listener, name).add();
  if (!pace(caller.listener, reason).due()) return;
  log_warning("refused listener=" + std::string(caller.listener) + " peer=" + std::string(caller.peer) +
              " reason=" + name + ": " + what);
}

Admission Tokens::admit_known(const Caller& caller, const Known& token) const {
  if (token.scopes.has(caller.scope)) return {.token_name = token.name};
  const std::string needed(name_of(caller.scope));
  note(caller, kScope, "its token '" + token.name + "' lacks the scope " + needed);
  return {.token_name = token.name,
          .why_not = "the token '" + token.name + "' has the scopes " + token.scopes.text() + "; this needs " + needed};
}

Admission Tokens::admit(const Caller& caller, std::string_view authorization) const {
  const std::string_view token = bearer_token(authorization);
  if (token.empty()) {
    note(caller, kMissing, "it sends no token");
    return {.why_not = "a token is missing: send " + std::string(kHowToSend)};
  }
  if (const std::optional<Known> known = find(token)) return admit_known(caller, *known);
  note(caller, kWrong, "its token is none of ours");
  return {.why_not = "the token is none of this server's: send another in " + std::string(kHowToSend)};
}

std::string_view bearer_token(std::string_view authorization) {
  return has_scheme(authorization) ? trimmed(authorization.substr(kScheme.size())) : std::string_view();
}

void list_token_metrics(std::string_view listener) {
  for (std::string_view reason : kReasonNames) refused(listener, reason).add(0);
}

}  // namespace fathom::net
