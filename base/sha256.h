// SHA-256 of a string that comes in pieces: the name under which content is stored.
//
// Purpose: agents and stores name content alike. Thread safety: none; one owner.
// Errors: none; OpenSSL's own, which are those of memory alone, end the process.
#pragma once

#include <memory>
#include <string_view>

#include "base/ids.h"

struct evp_md_ctx_st;

namespace fathom {

using Sha256 = Id<32>;

class Sha256Hasher {
 public:
  Sha256Hasher();
  void add(std::string_view bytes);
  // Of all that was added. Afterwards there is nothing more to add.
  Sha256 finish();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

Sha256 sha256(std::string_view bytes);

}  // namespace fathom
