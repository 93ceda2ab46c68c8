// Tokens: the bearer tokens that listeners let in, from a file that can be read again.
//
// The file has a token per line, `TOKEN` or `NAME:TOKEN` (a token has no colon and no blank); '#' begins a comment
// line. After a blank, a line may list the token's scopes (scopes.h): `NAME:TOKEN query,control`. Without a list the
// token has all scopes. Thread safety: all of it. Errors: kInvalid and what read_small_file() says; messages name file
// and line, never a token. Comparisons take the same time whatever is wrong. Losses:
// fathom_auth_refused_total{listener,reason}, with a line in the log, once a second at most of each.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log_pace.h"
#include "base/result.h"
#include "base/sha256.h"
#include "net/scopes.h"
#include "net/watchers.h"

namespace fathom::net {

struct Token {
  std::string name;  // empty: the line has none
  std::string text;
  Scopes scopes;
  bool operator==(const Token&) const = default;
};

// The tokens of a file, in order: what a client sends is the first.
Result<std::vector<Token>> read_tokens(const std::string& path);
// The same of its text; `path` is for messages.
Result<std::vector<Token>> parse_tokens(const std::string& path, std::string_view text);

// A request or a call.
struct Caller {
  std::string_view listener;  // the label in metrics
  std::string_view peer;      // "HOST:PORT"
  Scope scope;                // what the request or call needs
};

// Without `why_not`, the request or call is allowed.
struct Admission {
  std::string token_name;              // of a known token; "unnamed" if its line has no name
  std::optional<std::string> why_not;  // for the answer
  bool is_known() const { return !token_name.empty(); }
};

class Tokens {
 public:
  static Result<std::shared_ptr<Tokens>> load(const std::string& path);
  // What is kept of a token: not itself.
  struct Known {
    Sha256 digest;
    std::string name;
    Scopes scopes;
  };
  using KnownTokens = std::vector<Known>;
  // What the file has now; nothing of it is in use before use().
  Result<KnownTokens> read() const;
  void use(KnownTokens tokens);  // and tells who watches
  // For those whose calls go on for long: `told` is called when other tokens are in use.
  [[nodiscard]] Watchers::Watch watch(Watchers::Told told) { return watchers_.add(std::move(told)); }

  // Whether the bearer of this `authorization` header may come in.
  Admission admit(const Caller& caller, std::string_view authorization) const;

 private:
  explicit Tokens(std::string path) : path_(std::move(path)) {}
  enum Reason : size_t { kMissing, kWrong, kScope };
  static constexpr size_t kReasons = 3;
  std::optional<Known> find(std::string_view token) const;
  Admission admit_known(const Caller& caller, const Known& token) const;
  void note(const Caller& caller, Reason reason, const std::string& what) const;
  LogPace& pace(std::string_view listener, Reason reason) const;

  const std::string path_;
  Watchers watchers_;
  mutable std::mutex mutex_;
  KnownTokens tokens_;
  // Of each listener and reason, so that nobody hides another.
  mutable std::map<std::string, std::array<LogPace, kReasons>, std::less<>> paces_;
};

// The bearer token of an `authorization` header; empty without one.
std::string_view bearer_token(std::string_view authorization);

// Of a listener, so that they are listed with 0 before anybody is refused.
void list_token_metrics(std::string_view listener);

}  // namespace fathom::net
