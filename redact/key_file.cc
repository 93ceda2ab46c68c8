#include "redact/key_file.h"

#include <optional>
#include <string_view>

#include "base/secret.h"
#include "base/secret_file.h"
#include "base/small_file.h"

namespace fathom {

namespace {

constexpr uint64_t kMostKeyFileBytes = 256;

}  // namespace

Result<RedactKey> read_redact_key(const std::string& path) {
  Result<std::string> content = read_small_file(path, kMostKeyFileBytes);
  if (!content) return invalid("--redact-key-file: " + content.error().message);
  const std::string_view text = std::string_view(*content).substr(0, content->find_last_not_of(" \t\r\n") + 1);
  const std::optional<RedactKey> key = RedactKey::from_hex_text(text);
  if (key && !key->is_zero()) return *key;
  return invalid("--redact-key-file: " + path +
                 " does not hold 64 hex digits; restore it from a backup, or delete it for a new key, whose hashes "
                 "differ from those already stored");
}

Result<RedactKey> read_or_make_redact_key(const std::string& path) {
  if (Result<> made = make_secret_file(path, random_secret() + "\n", "redaction key"); !made) return made.error();
  return read_redact_key(path);
}

}  // namespace fathom
