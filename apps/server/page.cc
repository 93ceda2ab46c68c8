#include "apps/server/page.h"

#include <filesystem>

#include "base/log.h"

namespace fathom {

namespace {

std::string beside_us() {
  std::error_code ignored;
  auto programs = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  return (programs.parent_path() / "share" / "fathom" / "page").string();
}

}  // namespace

Result<std::shared_ptr<const query::PageFiles>> read_page(const std::string& directory) {
  Result<query::PageFiles> page = query::PageFiles::read(directory.empty() ? beside_us() : directory);
  if (page) return std::make_shared<const query::PageFiles>(*std::move(page));
  if (!directory.empty()) return Error{page.error().code, "--page: " + page.error().message};
  if (page.error().code != ErrorCode::kNotFound) log_warning("no page is served: " + page.error().message);
  return std::shared_ptr<const query::PageFiles>();
}

}  // namespace fathom
