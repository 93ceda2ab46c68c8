#include "snapshot/symbols/near_functions.h"

#include <algorithm>
#include <map>

#include "base/suggest.h"
#include "snapshot/symbols/demangle.h"

namespace fathom::snapshot {
namespace {

constexpr std::string_view kAnonymousPrefix = "(anonymous namespace)::";

// As one would write it: "shop::reserve" of "int shop::reserve<int>(Cart&)".
std::string_view written_name(std::string_view name) {
  std::string_view plain = function_without_parameters(name);
  const size_t anonymous = plain.rfind(kAnonymousPrefix);
  if (anonymous != std::string_view::npos) plain.remove_prefix(anonymous + kAnonymousPrefix.size());
  plain = plain.substr(0, plain.find_first_of("<["));
  return plain.substr(plain.rfind(' ') + 1);
}

std::string own_name(std::string_view written) {
  const size_t colons = written.rfind("::");
  std::string own(colons == std::string_view::npos ? written : written.substr(colons + 2));
  std::erase_if(own, [](char c) { return c == '*' || c == '?'; });
  return own;
}

}  // namespace

std::vector<std::string> nearest_functions(std::string_view wanted, const std::vector<std::string>& names,
                                           size_t most) {
  std::vector<std::string> own;
  std::map<std::string, std::string> written;  // by the own name, of the first that has it
  for (const std::string& name : names) {
    if (name.ends_with("@plt")) continue;
    const std::string_view one = written_name(name);
    const auto [at, fresh] = written.try_emplace(own_name(one), one);
    if (fresh) own.push_back(at->first);
  }
  std::vector<std::string> few = nearest_few(own_name(written_name(wanted)), own, most);
  for (std::string& one : few) one = written[one];
  return few;
}

}  // namespace fathom::snapshot
