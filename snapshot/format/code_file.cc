#include "snapshot/format/code_file.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

namespace fathom::snapshot {

namespace {

CodeOpener& code_opener() {
  static CodeOpener opener;
  return opener;
}

}  // namespace

void set_code_opener(CodeOpener opener) {
  code_opener() = std::move(opener);
}

Fd open_code(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.open() || errno != EACCES || !code_opener()) return file;
  return code_opener()(path);
}

}  // namespace fathom::snapshot
