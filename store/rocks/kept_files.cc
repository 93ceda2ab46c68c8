#include "store/rocks/kept_files.h"

#include <fcntl.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/fd.h"
#include "base/replace_file.h"
#include "base/text.h"
#include "store/wal/hash_line.h"

namespace fathom::store {

namespace {

namespace fs = std::filesystem;

constexpr const char* kList = "files";

Result<> check_file(const std::string& path, uint64_t bytes) {
  std::error_code code;
  const uint64_t found = fs::file_size(path, code);
  if (code) return corrupt(path + " is missing or cannot be read: " + code.message());
  if (found == bytes) return {};
  return corrupt(path + " has " + plural(found, "byte") + " instead of " + group_digits(bytes));
}

}  // namespace

Result<> write_kept_files(const std::string& backup) {
  std::string lines;
  std::error_code code;
  fs::recursive_directory_iterator entry(backup, code);
  for (; !code && entry != fs::recursive_directory_iterator(); entry.increment(code)) {
    if (!entry->is_regular_file(code)) continue;
    const uint64_t bytes = entry->file_size(code);
    lines += std::to_string(bytes) + " " + entry->path().lexically_relative(backup).string() + "\n";
  }
  if (code) return internal("cannot list " + backup + ": " + code.message());
  const Fd folder(::open(backup.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.open()) return system_error("cannot open " + backup);
  return replace_file(folder, kList, lines + hash_line(lines));
}

Result<> check_kept_files(const std::string& backup) {
  const std::string list = backup + "/" + kList;
  std::error_code code;
  if (!fs::exists(list, code)) return {};
  std::ostringstream text;
  text << std::ifstream(list, std::ios::binary).rdbuf();
  if (!ends_with_hash_line(text.str())) return corrupt(list + " is damaged");
  std::istringstream in(text.str());
  std::string name;
  for (uint64_t bytes = 0; in >> bytes && in.get() == ' ' && std::getline(in, name);) {
    if (!fs::exists(backup + "/" + name.substr(0, name.find('/')), code)) continue;
    if (Result<> checked = check_file(backup + "/" + name, bytes); !checked) return checked;
  }
  return {};
}

}  // namespace fathom::store
