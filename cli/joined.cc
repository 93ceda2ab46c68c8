#include "cli/joined.h"

#include "base/ids.h"
#include "cli/text.h"

namespace fathom::cli {

namespace {

constexpr const char* kMostItems = "1000000";  // that a server gives

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
  bool right = given->size() == digits && given->find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
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
  return {"ID", "a trace's or a capture's: 32 hexadecimal digits"};
}

Error not_an_id(std::string_view text, const std::string& what) {
  const bool beginning =
      text.size() >= 4 && text.size() < 32 && text.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  if (!beginning) return invalid("'" + printable(text) + "' is not " + what + ": 32 hexadecimal digits");
  return invalid("'" + printable(text) + "' is the beginning of an id; " + what +
                 " must be whole: 32 hexadecimal digits, as 'fathom slowest' and 'fathom captures' print them (only "
                 "snapshots go by their beginning)");
}

Result<std::string> fetch_joined(const Api& api, const Args& args, const JoinedForm& form) {
  auto id = TraceId::from_hex_text(args.positional(0));
  if (!id || id->is_zero()) {
    return not_an_id(args.positional(0), "a trace's or a capture's id");
  }
  if (args.get("--capture") == args.positional(0)) return invalid("ID is the capture's already: leave out --capture");
  std::string tail = id->hex() + "/" + form.name;
  auto of_trace = target_of("/api/v1/traces/" + tail, args, form);
  if (!of_trace) return of_trace.error();
  Result<std::string> body = api.fetch(*of_trace);
  if (body || body.error().code != ErrorCode::kNotFound || args.given("--capture")) return body;
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
