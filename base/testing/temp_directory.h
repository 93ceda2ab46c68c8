// TempDirectory: a fresh directory for one test, removed with everything in it.
//
// Thread safety: none needed. Ownership: what lives in the directory must be closed before it.
#pragma once

#include <stdlib.h>

#include <cassert>
#include <filesystem>
#include <string>

namespace fathom {

class TempDirectory {
 public:
  TempDirectory() : path_((std::filesystem::temp_directory_path() / "fathom-test-XXXXXX").string()) {
    const char* made = ::mkdtemp(path_.data());
    assert(made != nullptr);
    (void)made;
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace fathom
