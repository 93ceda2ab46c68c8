#include "base/sha256.h"

#include <openssl/evp.h>

#include <cstdlib>

namespace fathom {

namespace {

void must(int outcome) {
  if (outcome != 1) std::abort();
}

}  // namespace

void Sha256Hasher::Free::operator()(evp_md_ctx_st* context) const {
  EVP_MD_CTX_free(context);
}

Sha256Hasher::Sha256Hasher() : context_(EVP_MD_CTX_new()) {
  must(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr));
}

void Sha256Hasher::add(std::string_view bytes) {
  must(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()));
}

Sha256 Sha256Hasher::finish() {
  Sha256 hash;
  must(EVP_DigestFinal_ex(context_.get(), hash.bytes.data(), nullptr));
  return hash;
}

Sha256 sha256(std::string_view bytes) {
  Sha256Hasher hasher;
  hasher.add(bytes);
  return hasher.finish();
}

}  // namespace fathom
