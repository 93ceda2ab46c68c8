// Where things are: programs beside our own, the examples, directories that disappear again.
//
// Thread safety: pure functions, and plain values. Errors: kNotFound, with the cure.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/context.h"

namespace fathom::cli {

// A program in the directory of our own executable.
Result<std::string> sibling_program(const Context& context, const std::string& name);

// examples/<name>: under $FATHOM_EXAMPLES, in the source tree that this was built from, or installed beside us.
Result<std::string> example_directory(const Context& context, const std::string& name);

// A fresh directory that is removed, with all in it, by the destructor.
class TemporaryDirectory {
 public:
  static Result<TemporaryDirectory> make(const Context& context, const std::string& prefix);
  TemporaryDirectory(TemporaryDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory();
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace fathom::cli
