// Expiry: until when the certificates of a file are good, and the warning when that is soon.
//
// Purpose: a certificate ends without a word, and then nobody connects; who shows or trusts one says so in the log in
// time. Thread safety: plain functions and values. Errors: kInvalid, naming the flag and the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace fathom::net {

struct ClientSecurity;  // net/tls_client.h

struct Expiry {
  std::string flag;  // that named the file
  std::string file;
  int64_t unix_seconds = 0;
};

// Of what a client shows and trusts, after all of it was checked as check() does.
Result<std::vector<Expiry>> expiries(const ClientSecurity& security);

// What to say of one that ends within 14 days; nothing of another.
std::optional<std::string> expiry_warning(const Expiry& expiry, int64_t now_unix_seconds);
// Says it in the log.
void warn_of_expiry(const std::vector<Expiry>& expiries);

}  // namespace fathom::net
