#include "snapshot/symbols/source_path.h"

#include <dwarf.h>

#include <cstring>
#include <filesystem>
#include <string_view>

namespace fathom::snapshot {
namespace {

constexpr size_t kMostBytes = 2048;  // longer ones are none, and not worth the work

}  // namespace

std::string source_path(Dwarf_Die& unit, const char* name) {
  if (*name == '/' || std::strlen(name) > kMostBytes) return name;
  Dwarf_Attribute attribute;
  const bool known = dwarf_attr(&unit, DW_AT_comp_dir, &attribute) != nullptr;
  const char* directory = known ? dwarf_formstring(&attribute) : nullptr;
  if (directory == nullptr || std::strlen(directory) > kMostBytes) return name;
  // libdw itself puts a directory before a name, which may be this one.
  const bool has_it = std::string_view(name).starts_with(std::string(directory) + "/");
  return (has_it ? std::filesystem::path(name) : std::filesystem::path(directory) / name).lexically_normal().string();
}

}  // namespace fathom::snapshot
