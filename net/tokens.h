// Tokens: the bearer tokens that listeners let in, from a file that can be read again.
//
// The file has a token a line, `TOKEN` or `NAME:TOKEN` (a token has no colon); '#' begins a comment line. Thread
// safety: all of it. Errors: kInvalid and what read_small_file() says; messages name file and line, never a token.
// Comparisons take the same time whatever is wrong. Losses: fathom_auth_refused_total{listener,reason}.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/sha256.h"

namespace fathom::net {

// The tokens of a file, in order: what a client sends is the first.
Result<std::vector<std::string>> read_tokens(const std::string& path);

class Tokens {
 public:
  static Result<std::shared_ptr<Tokens>> load(const std::string& path);
  // The old ones stay when the file cannot be read.
  Result<> reload();

  // Nothing when the bearer of this `authorization` header may come in; else what it is to be told.
  std::optional<std::string> refuse(std::string_view listener, std::string_view authorization) const;

 private:
  explicit Tokens(std::string path) : path_(std::move(path)) {}
  bool knows(std::string_view token) const;

  const std::string path_;
  mutable std::mutex mutex_;
  std::vector<Sha256> digests_;
};

// Of a listener, so that they are listed with 0 before anybody is refused.
void list_token_metrics(std::string_view listener);

}  // namespace fathom::net
