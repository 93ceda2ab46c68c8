#include "cli/joined.h"

#include "cli/text.h"

namespace fathom::cli {

namespace {

constexpr size_t kLeastIdDigits = 8;  // of a trace's id; as the server
constexpr size_t kWholeIdDigits = 32;
constexpr const char* kMostItems = "1000000";  // that a server gives

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

Result<Target> target_of(const std::string& path, const Args& args, const JoinedForm& form) {
  Target target(path);
  if (auto added = add_id(target, args, "--capture", "capture", 32); !added) return added.error();
  if (auto added = add_id(target, args, "--span", "span", 16); !added) return added.error();
  if (form.all) target.add("all", "true");
  if (form.everything) target.add("limit", kMostItems);
  return target;
}

}  // namespace

Result<> add_id(Target& target, const Args& args, const std::string& flag, std::string_view key, size_t digits) {
  auto given = args.given(flag);
  if (!given) return {};
  bool right = given->size() == digits && is_hex(*given);
  if (!right)
    return invalid(flag + " takes " + std::to_string(digits) + " hexadecimal digits, not '" + printable(*given) + "'");
  target.add(key, *given);
  return {};
}

std::vector<Flag> part_flags() {
  return {{"--capture", "ID", "only what this capture has; 'fathom captures' lists them"},
          {"--span", "ID",
           "only this span, what is below it, and while it lasted; where its thread is not known, all threads of its "
           "process. 16 hexadecimal digits, as 'fathom timeline' and 'fathom trace --attributes' print them"}};
}

Positional id_positional() {
  return {"ID", "a trace's or a capture's: 32 hexadecimal digits; of a trace's, the first 8 or more will do"};
}

std::optional<std::string> id_or_beginning(std::string_view text) {
  if (text.size() < kLeastIdDigits || text.size() > kWholeIdDigits || !is_hex(text)) return std::nullopt;
  if (text.size() == kWholeIdDigits && text.find_first_not_of('0') == std::string_view::npos) return std::nullopt;
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

Error not_an_id(std::string_view text, const std::string& what, size_t least_digits) {
  const std::string shown = "'" + printable(text) + "'";
  const bool beginning = text.size() >= 4 && text.size() < least_digits && is_hex(text);
  if (!beginning) return invalid(shown + " is not " + what + ": 32 hexadecimal digits");
  const std::string must = least_digits == kWholeIdDigits
                               ? "it must be whole"
                               : "at least " + std::to_string(least_digits) + " must be there";
  return invalid(shown + " is the beginning of an id; " + what + " has 32 hexadecimal digits, and " + must +
                 ", as 'fathom slowest' and 'fathom captures' print them");
}

Result<std::string> fetch_joined(const Api& api, const Args& args, const JoinedForm& form) {
  const auto id = id_or_beginning(args.positional(0));
  if (!id) return not_an_id(args.positional(0), "a trace's or a capture's id", kLeastIdDigits);
  if (args.get("--capture") == args.positional(0)) return invalid("ID is the capture's already: leave out --capture");
  std::string tail = *id + "/" + form.name;
  auto of_trace = target_of("/api/v1/traces/" + tail, args, form);
  if (!of_trace) return of_trace.error();
  Result<std::string> body = api.fetch(*of_trace);
  if (body || body.error().code != ErrorCode::kNotFound || args.given("--capture")) return body;
  if (id->size() < kWholeIdDigits) return body;  // captures go by whole ids
  auto of_capture = target_of("/api/v1/captures/" + tail, args, form);
  Result<std::string> second = api.fetch(*of_capture);
  bool neither = !second && second.error().code == ErrorCode::kNotFound;
  return neither ? body : second;
}

ExitCode not_fetched(const Context& context, const Error& error) {
  ExitCode code = failed(context, error);
  return error.code == ErrorCode::kNotFound ? ExitCode::kNothingFound : code;
}

}  // namespace fathom::cli
