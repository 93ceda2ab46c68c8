#include "snapshot/record/pt/mapped_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>

#include "snapshot/record/image_rule.h"
#include "snapshot/record/pt/build_id.h"

namespace fathom::snapshot {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

std::string map_file_of(const Sideband& row) {
  char text[96];
  std::snprintf(text, sizeof text, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, row.pid, row.address,
                row.address + row.length);
  return text;
}

std::string without_deleted(const std::string& path) {
  return path.ends_with(kDeleted) ? path.substr(0, path.size() - kDeleted.size()) : path;
}

std::string root_of(const Sideband& row) {
  return "/proc/" + std::to_string(row.pid) + "/root";
}

Fd open_if_same(const std::string& path, const PerfMapping& mapping) {
  // Opening must not wait for a pipe that lies under the name by now.
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about {};
  if (!file.open() || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return {};
  if (mapping.inode != 0 && about.st_ino != mapping.inode) return {};
  if (!mapping.build_id.empty() && read_build_id(file.get()) != mapping.build_id) return {};
  return file;
}

}  // namespace

Fd open_mapped_file(const PerfSystem& system, const Sideband& row, const PerfMapping& mapping) {
  const std::string name = without_deleted(mapping.file);
  for (const std::string& path : {map_file_of(row), root_of(row) + name, name}) {
    if (Fd file = open_if_same(system.path(path), mapping); file.open()) return file;
  }
  return {};
}

bool is_reachable(const PerfSystem& system, const Sideband& row, const PerfMapping& mapping) {
  const std::string root = system.path(root_of(row));
  const bool runs = ::access((root + "/").c_str(), F_OK) == 0;
  return everybody_may_reach(runs ? root : system.path(""), mapping.file);
}

}  // namespace fathom::snapshot
