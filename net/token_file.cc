#include "net/token_file.h"

#include "base/secret.h"
#include "base/secret_file.h"

namespace fathom::net {

namespace {

constexpr const char* kName = "local";

}  // namespace

Result<> make_token_file(const std::string& path) {
  return make_secret_file(path, std::string(kName) + ":" + random_secret() + "\n", "token file");
}

}  // namespace fathom::net
