#include "snapshot/record/pt/symbol_place.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/fd.h"
#include "snapshot/record/step/proc_maps.h"
#include "snapshot/symbols/image_symbols.h"

namespace fathom::snapshot {

namespace {

bool shows(const step::MappedFile& map, const SymbolPlace& place) {
  return map.executable && map.inode == place.inode && map.path.ends_with(place.file.substr(place.file.rfind('/') + 1));
}

}  // namespace

Result<SymbolPlace> find_symbol(const std::string& text) {
  // Names of functions have colons, too; names of files rarely.
  const size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) {
    return invalid("'" + text + "' is no FILE:FUNCTION, like /usr/bin/shop:checkout");
  }
  SymbolPlace place{text.substr(0, colon), text.substr(colon + 1), 0, {}};
  struct stat about {};
  if (::stat(place.file.c_str(), &about) != 0) return system_error("cannot read " + place.file);
  place.inode = about.st_ino;
  Image image;
  image.name = place.file;
  const auto symbols = ImageSymbols::load(place.file, image);
  for (const Function* function : symbols->named(place.name)) place.offsets.push_back(function->begin);
  if (!place.offsets.empty()) return place;
  const std::string problem = symbols->problem().empty() ? "" : " (" + symbols->problem() + ")";
  return not_found("there is no function '" + place.name + "' in " + place.file + problem);
}

std::vector<uint64_t> addresses_in(pid_t pid, const SymbolPlace& place) {
  std::vector<uint64_t> addresses;
  for (const step::MappedFile& map : step::read_maps(pid)) {
    if (!shows(map, place)) continue;
    for (const uint64_t offset : place.offsets) {
      const bool is_here = offset >= map.file_offset && offset - map.file_offset < map.end - map.begin;
      if (is_here) addresses.push_back(map.begin + (offset - map.file_offset));
    }
  }
  std::ranges::sort(addresses);
  addresses.erase(std::ranges::unique(addresses).begin(), addresses.end());
  return addresses;
}

}  // namespace fathom::snapshot
