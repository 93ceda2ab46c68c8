#include "cli/known_names.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/trim.h"
#include "cli/filter_flags.h"
#include "cli/suggest.h"
#include "cli/text.h"
#include "cli/value_text.h"
#include "net/http_client.h"

namespace fathom::cli {

namespace {

using Names = std::vector<std::string>;

constexpr size_t kMostNamesListed = 10;
constexpr size_t kMeant = 3;
constexpr const char* kMostValues = "1000";

bool has(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Those that are like `word` first.
std::string listed_names(std::string_view word, const Names& known) {
  const size_t most = lines_shown(known.size(), kMostNamesListed);
  Names shown = nearest_few(word, known, most);
  for (size_t i = 0; i < known.size() && shown.size() < most; ++i) {
    if (!has(shown, known[i])) shown.push_back(known[i]);
  }
  std::string text;
  for (const std::string& name : shown) text += (text.empty() ? "" : ", ") + name_text(name);
  return text + (known.size() > shown.size() ? ", and " + group_digits(known.size() - shown.size()) + " more" : "");
}

std::string did_you_mean_of(std::string_view word, const Names& known) {
  return printable(did_you_mean(nearest_few(word, known, kMeant)));
}

class Lookup {
 public:
  Lookup(const Api& api, const Args& args, const Context& context) : api_(api), args_(args), context_(context) {}

  std::string service() const {
    const auto wanted = args_.given("--service");
    if (!wanted) return "";
    const auto known = names("/api/v1/services", "services", "service");
    if (!known || has(*known, *wanted)) return "";
    return "--service: no service is called '" + printable(*wanted) + "' in this time" +
           did_you_mean_of(*wanted, *known) + those(*wanted, *known);
  }

  std::string operation() const {
    const auto wanted = args_.given("--operation");
    if (!wanted) return "";
    Target target("/api/v1/operations");
    const auto service = args_.given("--service");
    if (service) target.add("service", *service);
    const auto known = names(std::move(target), "operations", "operation");
    if (!known || has(*known, *wanted) || (service && known->empty())) return "";
    return "--operation: no operation" + (service ? " of " + printable(*service) : "") + " is called '" +
           printable(*wanted) + "' in this time" + did_you_mean_of(*wanted, *known) + those(*wanted, *known);
  }

  std::string conditions() const {
    const Names& all = args_.all("--where");
    const auto keys = all.empty() ? std::nullopt : names("/api/v1/attributes", "keys", "");
    std::string text;
    for (const std::string& condition : all) {
      if (keys) text += one_condition(condition, *keys);
    }
    return text;
  }

 private:
  // The grammar is in docs/api.md. Quoted conditions are not checked. `!KEY` is not either: every span lacks an unknown
  // key, so the key is no reason for an empty answer.
  std::string one_condition(std::string_view condition, const Names& keys) const {
    if (condition.find('"') != condition.npos || trimmed(condition).starts_with('!')) return "";
    const size_t end = std::min(condition.find_first_of("=!<>"), condition.size());
    const std::string key(trimmed(condition.substr(0, end)));
    if (!has(keys, key)) {
      return "--where: no span has an attribute '" + printable(key) + "' in this time" + did_you_mean_of(key, keys) +
             those(key, keys);
    }
    const bool names_a_value = end < condition.size() && condition[end] == '=';
    return names_a_value ? value(key, std::string(trimmed(condition.substr(end + 1)))) : "";
  }

  // A number may be written otherwise, so that a value is not there is not said.
  std::string value(const std::string& key, const std::string& wanted) const {
    Target target("/api/v1/attributes/" + net::percent_encode(key) + "/values");
    const auto known = names(target.add("limit", kMostValues), "values", "value");
    if (!known || known->empty() || has(*known, wanted)) return "";
    return "--where: of " + printable(key) + " there are " + listed_names(wanted, *known) + "\n";
  }

  static std::string those(std::string_view word, const Names& known) {
    return known.empty() ? "; there is none at all\n" : "; there are " + listed_names(word, known) + "\n";
  }

  // Each once. Without `member` the list is of texts.
  std::optional<Names> names(Target target, const std::string& list, const std::string& member) const {
    if (!add_range(target, args_, context_.now_unix_nano())) return std::nullopt;
    Result<boost::json::value> answer = api_.json(target);
    if (!answer || !member_of(*answer, list).is_array()) return std::nullopt;
    Names names;
    std::unordered_set<std::string> seen;
    for (const boost::json::value& row : array_of(*answer, list)) {
      std::string name = member.empty() && row.is_string() ? std::string(row.as_string()) : text_of(row, member);
      if (seen.insert(name).second) names.push_back(std::move(name));
    }
    return names;
  }
  std::optional<Names> names(const char* path, const std::string& list, const std::string& member) const {
    return names(Target(path), list, member);
  }

  const Api& api_;
  const Args& args_;
  const Context& context_;
};

}  // namespace

std::string unknown_names(const Api& api, const Args& args, const Context& context) {
  const Lookup lookup(api, args, context);
  std::string text = lookup.service();
  text += lookup.operation();
  return text + lookup.conditions();
}

}  // namespace fathom::cli
