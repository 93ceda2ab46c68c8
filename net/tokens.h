// Tokens: the bearer tokens that listeners let in, from a file that can be read again.
//
// The file has a token a line, `TOKEN` or `NAME:TOKEN` (a token has no colon); '#' begins a comment line. Thread
// safety: all of it. Errors: kInvalid and what read_small_file() says; messages name file and line, never a token.
// Comparisons take the same time whatever is wrong. Losses: fathom_auth_refused_total{listener,reason}, with a line in
// the log, once a second at most of each.
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
#include "net/watchers.h"

namespace fathom::net {

// The tokens of a file, in order: what a client sends is the first.
Result<std::vector<std::string>> read_tokens(const std::string& path);
// The same of its text; `path` is for messages.
Result<std::vector<std::string>> parse_tokens(const std::string& path, std::string_view text);

// Who comes without a token that is known.
struct Caller {
  std::string_view listener;  // the label in metrics
  std::string_view peer;      // "HOST:PORT"
};

class Tokens {
 public:
  static Result<std::shared_ptr<Tokens>> load(const std::string& path);
  // What is known of tokens: their digests.
  using Digests = std::vector<Sha256>;
  // What the file has now; nothing of it is in use before use().
  Result<Digests> read() const;
  void use(Digests digests);  // and tells who watches
  // For those whose calls go on for long: `told` is called when other tokens are in use.
  [[nodiscard]] Watchers::Watch watch(Watchers::Told told) { return watchers_.add(std::move(told)); }

  // Nothing when the bearer of this `authorization` header may come in; else what it is to be told.
  std::optional<std::string> refuse(const Caller& caller, std::string_view authorization) const;

 private:
  explicit Tokens(std::string path) : path_(std::move(path)) {}
  enum Reason : size_t { kMissing, kWrong };
  static constexpr size_t kReasons = 2;
  bool knows(std::string_view token) const;
  void note(const Caller& caller, Reason reason) const;
  LogPace& pace(std::string_view listener, Reason reason) const;

  const std::string path_;
  Watchers watchers_;
  mutable std::mutex mutex_;
  Digests digests_;
  // Of each listener and reason, so that nobody hides another.
  mutable std::map<std::string, std::array<LogPace, kReasons>, std::less<>> paces_;
};

// Of a listener, so that they are listed with 0 before anybody is refused.
void list_token_metrics(std::string_view listener);

}  // namespace fathom::net
