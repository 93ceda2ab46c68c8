#include "base/secret.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string_view>

#include "base/ids.h"

namespace fathom {

std::string random_secret() {
  std::array<char, 32> bytes;
  if (::getentropy(bytes.data(), bytes.size()) != 0) std::abort();
  return to_hex({bytes.data(), bytes.size()});
}

}  // namespace fathom
