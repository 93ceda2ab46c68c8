#include "cli/places.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "cli/fd.h"

#ifndef FATHOM_SOURCE_DIR
#define FATHOM_SOURCE_DIR ""
#endif

namespace fathom::cli {

namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

}  // namespace

Result<std::string> sibling_program(const Context& context, const std::string& name) {
  fs::path program = fs::path(context.executable).parent_path() / name;
  if (::access(program.c_str(), X_OK) == 0) return program.string();
  return not_found(program.string() + " is missing; it belongs beside this program (./dev build makes both)");
}

Result<std::string> example_directory(const Context& context, const std::string& name) {
  fs::path ours = fs::path(context.executable).parent_path();
  std::vector<fs::path> roots;
  if (auto chosen = context.env("FATHOM_EXAMPLES")) {
    roots = {*chosen};
  } else {
    roots = {fs::path(FATHOM_SOURCE_DIR) / "examples", ours / "../../../examples", ours / "../share/fathom/examples"};
  }
  for (const fs::path& root : roots) {
    if (is_there(root / name / "README.md")) return (root / name).lexically_normal().string();
  }
  return not_found("the example " + name + " is not here; set FATHOM_EXAMPLES to the directory that holds it");
}

Result<TemporaryDirectory> TemporaryDirectory::make(const Context& context, const std::string& prefix) {
  std::string root = context.env("TMPDIR").value_or("/tmp");
  std::string path = root + "/" + prefix + "XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return system_error("cannot make a directory in " + root);
  return TemporaryDirectory(path);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace fathom::cli
