#include "snapshot/record/step/find_function.h"

#include <elf.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "base/suggest.h"
#include "snapshot/symbols/image_symbols.h"
#include "snapshot/symbols/near_functions.h"

namespace fathom::snapshot::step {
namespace {

constexpr size_t kMostNamesCompared = 100'000;
constexpr size_t kMostMeant = 3;

Image image_of(const MappedFile& map) {
  Image image;
  image.name = map.path;
  return image;
}

// Of no class and no namespace but those that `name` says.
bool is_exactly(const std::string& function, const std::string& name) {
  return function == name || function.starts_with(name + "(");
}

struct Found {
  std::vector<uint64_t> exactly;
  std::vector<uint64_t> otherwise;  // the same, in some class or namespace
};

void add(std::vector<uint64_t>& addresses, uint64_t address) {
  if (std::ranges::find(addresses, address) == addresses.end()) addresses.push_back(address);
}

void add_from(pid_t pid, const MappedFile& map, const std::string& name, Found& found) {
  const auto symbols = ImageSymbols::load("/proc/" + std::to_string(pid) + "/root" + map.path, image_of(map));
  for (const Function* function : symbols->named(name)) {
    const bool here = function->begin >= map.file_offset && function->begin - map.file_offset < map.end - map.begin;
    const uint64_t address = map.begin + (function->begin - map.file_offset);
    if (here) add(is_exactly(function->name, name) ? found.exactly : found.otherwise, address);
  }
}

// The program's own come first.
std::vector<std::string> names_in(const std::vector<std::string>& files) {
  std::vector<std::string> names;
  for (const std::string& file : files) {
    Image image;
    image.name = file;
    const auto more = ImageSymbols::load(file, image)->some_names(kMostNamesCompared - names.size());
    names.insert(names.end(), more.begin(), more.end());
  }
  return names;
}

}  // namespace

std::vector<uint64_t> find_function(pid_t pid, const std::string& name) {
  Found found;
  for (const MappedFile& map : read_maps(pid)) {
    if (map.executable && map.inode != 0) add_from(pid, map, name, found);
  }
  return found.exactly.empty() ? found.otherwise : found.exactly;
}

std::string place_name(const std::vector<MappedFile>& code, uint64_t ip) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%" PRIx64, ip);
  const auto map = std::ranges::find_if(code, [&](const MappedFile& one) { return ip >= one.begin && ip < one.end; });
  if (map == code.end() || map->inode == 0) return text;
  const uint64_t offset = ip - map->begin + map->file_offset;
  const auto symbols = ImageSymbols::load(map->path, image_of(*map));
  const Function* function = symbols->function(offset);
  if (function == nullptr) return text;
  std::snprintf(text, sizeof text, "+0x%" PRIx64, offset - function->begin);
  return function->name + text;
}

std::vector<std::string> code_files(pid_t pid) {
  std::vector<std::string> files;
  for (const MappedFile& map : read_maps(pid)) {
    if (map.executable && map.inode != 0 && std::ranges::find(files, map.path) == files.end())
      files.push_back(map.path);
  }
  return files;
}

std::string no_function(const std::string& name, const std::vector<std::string>& files) {
  return "no function is called " + name + " in the program and the libraries that it is linked with" +
         did_you_mean(nearest_functions(name, names_in(files), kMostMeant)) +
         "; one that was stripped, inlined, or is loaded by dlopen() is not seen";
}

std::string too_many_functions(const std::string& name, size_t most) {
  return "more than " + std::to_string(most) + " functions are called " + name +
         "; write it with its parameters, or its mangled name";
}

uint64_t program_entry(pid_t pid) {
  const std::string text = read_proc_file("/proc/" + std::to_string(pid) + "/auxv");
  for (size_t at = 0; at + sizeof(Elf64_auxv_t) <= text.size(); at += sizeof(Elf64_auxv_t)) {
    Elf64_auxv_t entry;
    std::memcpy(&entry, text.data() + at, sizeof entry);
    if (entry.a_type == AT_ENTRY) return entry.a_un.a_val;
  }
  return 0;
}

}  // namespace fathom::snapshot::step
