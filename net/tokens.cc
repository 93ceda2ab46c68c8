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
constexpr std::string_view kScheme = "bearer ";
constexpr const char* kReasonNames[] = {"missing", "wrong"};
constexpr std::string_view kHowToSend = "'authorization: Bearer TOKEN'";

Counter& refused(std::string_view listener, std::string_view reason) {
  return counter("fathom_auth_refused_total", "Requests and calls that came without a token that is known.",
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

}  // namespace

Result<std::vector<std::string>> parse_tokens(const std::string& path, std::string_view text) {
  std::vector<std::string> tokens;
  size_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    ++number;
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.empty() || line.front() == '#') continue;
    const size_t colon = line.rfind(':');
    const std::string_view token = trimmed(colon == std::string_view::npos ? line : line.substr(colon + 1));
    if (!is_token(token)) {
      return invalid(path + ":" + std::to_string(number) + ": a line is TOKEN or NAME:TOKEN, the token " +
                     std::to_string(kLeastTokenBytes) + " visible characters at least; make one: openssl rand -hex 32");
    }
    tokens.emplace_back(token);
  }
  if (tokens.empty()) return invalid("'" + path + "' has no token; make one: openssl rand -hex 32 > " + path);
  return tokens;
}

Result<std::vector<std::string>> read_tokens(const std::string& path) {
  Result<std::string> text = read_small_file(path);
  if (!text) return text.error();
  auto tokens = parse_tokens(path, *text);
  if (tokens) warn_if_public(path);
  return tokens;
}

Result<std::shared_ptr<Tokens>> Tokens::load(const std::string& path) {
  std::shared_ptr<Tokens> tokens(new Tokens(path));
  Result<Digests> digests = tokens->read();
  if (!digests) return digests.error();
  tokens->use(*std::move(digests));
  return tokens;
}

Result<Tokens::Digests> Tokens::read() const {
  Result<std::vector<std::string>> tokens = read_tokens(path_);
  if (!tokens) return tokens.error();
  Digests digests;
  for (const std::string& token : *tokens) digests.push_back(sha256(token));
  return digests;
}

void Tokens::use(Digests digests) {
  {
    std::lock_guard lock(mutex_);
    digests_.swap(digests);
  }
  watchers_.tell();
}

// Of digests, so that not even the length shows; all are looked at, so that it does not show which was met.
bool Tokens::knows(std::string_view token) const {
  const Sha256 digest = sha256(token);
  std::lock_guard lock(mutex_);
  bool known = false;
  for (const Sha256& one : digests_) {
    known |= CRYPTO_memcmp(one.bytes.data(), digest.bytes.data(), digest.bytes.size()) == 0;
  }
  return known;
}

LogPace& Tokens::pace(std::string_view listener, Reason reason) const {
  std::lock_guard lock(mutex_);
  return paces_[std::string(listener)][reason];
}

void Tokens::note(const Caller& caller, Reason reason) const {
  const std::string name = kReasonNames[reason];
  refused(caller.listener, name).add();
  if (!pace(caller.listener, reason).due()) return;
  log_warning("refused listener=" + std::string(caller.listener) + " peer=" + std::string(caller.peer) +
              " reason=" + name + (reason == kMissing ? ": it sends no token" : ": its token is none of ours"));
}

std::optional<std::string> Tokens::refuse(const Caller& caller, std::string_view authorization) const {
  if (!has_scheme(authorization)) {
    note(caller, kMissing);
    return "a token is missing: send " + std::string(kHowToSend);
  }
  if (knows(trimmed(authorization.substr(kScheme.size())))) return std::nullopt;
  note(caller, kWrong);
  return "the token is none of this server's: send another in " + std::string(kHowToSend);
}

void list_token_metrics(std::string_view listener) {
  for (const char* reason : kReasonNames) refused(listener, reason).add(0);
}

}  // namespace fathom::net
