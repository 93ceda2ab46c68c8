#include "snapshot/symbols/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

#include "base/name_pattern.h"

namespace fathom::snapshot {
namespace {

// A few bytes can stand for gigabytes of text; what runs us bounds our memory, and this bounds what is usual.
constexpr size_t kMostMangledBytes = 4096;
constexpr size_t kMostNameBytes = 16384;
constexpr std::string_view kPlt = "@plt";
constexpr std::string_view kAnonymousNamespace = "(anonymous namespace)";

struct Free {
  void operator()(char* text) const { std::free(text); }
};

bool begins_word(std::string_view name, size_t at) {
  return at == 0 || name[at - 1] == ' ' || name.substr(0, at).ends_with("::");
}

bool ends_word(std::string_view name, size_t at) {
  return at == name.size() || name[at] == '<' || name[at] == '[';
}

}  // namespace

std::string_view function_without_parameters(std::string_view name) {
  for (size_t at = name.find('('); at != std::string_view::npos; at = name.find('(', at + 1)) {
    if (name.substr(at).starts_with(kAnonymousNamespace)) continue;
    if (name.substr(0, at).ends_with("operator")) continue;
    return name.substr(0, at);
  }
  return name;
}

std::string demangled(std::string_view raw) {
  if (raw.ends_with(kPlt)) return demangled(raw.substr(0, raw.size() - kPlt.size())) + std::string(kPlt);
  std::string name(raw.substr(0, kMostMangledBytes));
  if (name.starts_with("_Z") && name.size() == raw.size()) {
    int status = 0;
    const std::unique_ptr<char, Free> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status));
    if (text != nullptr) return std::string(std::string_view(text.get()).substr(0, kMostNameBytes));
  }
  return name;
}

bool means_function(std::string_view wanted, std::string_view name) {
  if (wanted.empty() || (name.ends_with(kPlt) && !wanted.ends_with(kPlt))) return false;
  if (wanted == name) return true;
  const std::string_view plain = function_without_parameters(name);
  for (size_t at = plain.find(wanted); at != std::string_view::npos; at = plain.find(wanted, at + 1)) {
    if (begins_word(plain, at) && ends_word(plain, at + wanted.size())) return true;
  }
  if (wanted.find_first_of("*?") == std::string_view::npos) return false;
  return fits_pattern(wanted, name) || fits_pattern(wanted, plain);
}

}  // namespace fathom::snapshot
