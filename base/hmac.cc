#include "base/hmac.h"

#include <array>
#include <cstddef>
#include <cstring>

namespace fathom {

namespace {

constexpr size_t kHmacBlockBytes = 64;  // SHA-256's

Sha256 hash_padded(const std::array<char, kHmacBlockBytes>& key, char pad, std::string_view text) {
  std::array<char, kHmacBlockBytes> padded = key;
  for (char& byte : padded) byte = static_cast<char>(byte ^ pad);
  Sha256Hasher hasher;
  hasher.add({padded.data(), padded.size()});
  hasher.add(text);
  return hasher.finish();
}

}  // namespace

Sha256 hmac_sha256(std::string_view key, std::string_view text) {
  std::array<char, kHmacBlockBytes> block{};
  const Sha256 short_key = key.size() > block.size() ? sha256(key) : Sha256{};
  if (key.size() > block.size()) key = short_key.view();
  if (!key.empty()) std::memcpy(block.data(), key.data(), key.size());
  return hash_padded(block, 0x5c, hash_padded(block, 0x36, text).view());
}

}  // namespace fathom
