#include <cstdio>
#include <filesystem>

#include "base/time.h"
#include "cli/api.h"
#include "cli/child.h"
#include "cli/demo_app.h"
#include "cli/doctor_checks.h"
#include "cli/places.h"
#include "cli/ports.h"
#include "cli/text.h"
#include "net/http_server.h"

namespace fathom::cli {

namespace {

constexpr uint64_t kProgramPatienceNano = 10 * kNanosPerSecond;
constexpr const char* kNodeJsCure =
    "only 'fathom demo --app otel-shop' needs it: apt install nodejs npm (18.19 or later)";

std::string printable_line(std::string text) {
  text.erase(text.find_last_not_of(" \r\n") + 1);
  return printable(text);
}

Finding not_reachable(const Error& error) {
  return {"server", Health::kWarn, error.message, "start one: fathom up; or say where it is: --url, $FATHOM_URL"};
}

// The server is fathom, and its /readyz refused: what is wrong, and what helps.
Finding not_ready(const Api& api, const Error& refusal) {
  Result<boost::json::value> status = api.json(Target("/api/v1/status"));
  bool full = status && member_of(*status, "store").is_object() && !flag_of(member_of(*status, "store"), "writable");
  if (!full)
    return {"server", Health::kFail, refusal.message, "it is starting or stopping: try again; its log says more"};
  return {"server", Health::kFail, "it answers questions, but cannot write what it is sent (" + refusal.message + ")",
          "make room on the disk of its data directory (df -h), and it goes on by itself; or keep less: "
          "fathom up --retention-age, --retention-size"};
}

}  // namespace

Finding check_programs(const Context& context) {
  std::string found;
  for (const char* name : {"fathom-server", "fathom-agent"}) {
    Result<std::string> program = sibling_program(context, name);
    if (!program) return {"programs", Health::kFail, std::string(name) + " is missing", program.error().message};
    found += (found.empty() ? "" : ", ") + *program;
  }
  return {"programs", Health::kOk, found, ""};
}

Finding check_server(const Context& context, const Args& args, bool& reachable) {
  reachable = false;
  Result<Api> api = connect(args, context);
  if (!api) return not_reachable(api.error());
  Result<std::string> alive = api->fetch(Target("/healthz"));
  if (!alive) return not_reachable(alive.error());
  if (printable_line(*alive) != "ok") {
    return {"server", Health::kFail, "what answers there is not fathom", "say where fathom is: --url, $FATHOM_URL"};
  }
  reachable = true;
  Result<std::string> ready = api->fetch(Target("/readyz"));
  if (!ready) return not_ready(*api, ready.error());
  Result<boost::json::value> status = api->json(Target("/api/v1/status"));
  std::string version = status ? printable(text_of(*status, "version")) : "";
  return {"server", Health::kOk, "ready" + (version.empty() ? "" : ", version " + version), ""};
}

Finding check_port(const std::string& purpose, const std::string& flag, const std::string& address, bool reachable) {
  auto split = net::split_address(address);
  if (!split) return {purpose, Health::kFail, split.error().message, "write HOST:PORT"};
  if (!is_taken(address)) return {purpose, Health::kOk, address + " is free", ""};
  if (reachable) return {purpose, Health::kOk, address + " is in use, and a server is running", ""};
  return {purpose, Health::kFail, address + " is in use by another program",
          "end that program (ss -ltnp says which), or choose: " + flag};
}

Finding judge_node_version(const std::string& version) {
  int major = 0;
  int minor = 0;
  std::sscanf(version.c_str(), "v%d.%d", &major, &minor);
  bool enough = major > 20 || (major == 20 && minor >= 6) || (major == 18 && minor >= 19);
  if (enough) return {"node", Health::kOk, version, ""};
  return {"node", Health::kWarn, version + " is too old, or of an odd line", kNodeJsCure};
}

Finding check_node() {
  Result<std::string> version = run_and_capture({"node", "--version"}, kProgramPatienceNano);
  if (!version) return {"node", Health::kWarn, version.error().message, kNodeJsCure};
  return judge_node_version(printable_line(*version));
}

Finding check_npm() {
  Result<std::string> version = run_and_capture({"npm", "--version"}, kProgramPatienceNano);
  if (!version) return {"npm", Health::kWarn, version.error().message, kNodeJsCure};
  return {"npm", Health::kOk, printable_line(*version), ""};
}

Finding check_shop(const Context& context) {
  Result<std::string> program = shop_program(context);
  if (!program) return {"demo", Health::kWarn, "no shop", program.error().message};
  return {"demo", Health::kOk, *program, ""};
}

Finding check_otel_shop(const Context& context) {
  Result<std::string> example = example_directory(context, "otel-shop");
  if (!example) return {"demo: otel-shop", Health::kWarn, "no otel-shop", example.error().message};
  bool installed = ::access((*example + "/node_modules").c_str(), F_OK) == 0;
  return {"demo: otel-shop", Health::kOk, *example + (installed ? "" : " (its packages are fetched at the first run)"),
          ""};
}

}  // namespace fathom::cli
