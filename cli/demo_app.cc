#include "cli/demo_app.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "base/time.h"
#include "cli/places.h"

namespace fathom::cli {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kNpmPatienceNano = 10 * kNanosPerMinute;
constexpr const char* kOtelShopNeeds =
    "; otel-shop needs Node 18.19 or later and npm ('fathom doctor' says what is here)";

// ---- shop -----------------------------------------------------------------------------------------------------------

Result<DemoShop> prepare_shop(const Context& context, Signals&, const std::string& scratch) {
  Result<std::string> program = shop_program(context);
  if (!program) return program.error();
  return DemoShop{*program, scratch};
}

ChildOptions shop_command(const DemoShop& shop, const Addresses& addresses, uint64_t seconds) {
  ChildOptions options;
  options.command = {shop.program, "run", "--seconds", std::to_string(seconds), "--directory", shop.directory};
  options.environment = {{"FATHOM_AGENT_SOCKET", addresses.agent_socket}};
  return options;
}

// ---- otel-shop
// -------------------------------------------------------------------------------------------------------

// The example as it is shipped, without what somebody may have installed or left in it.
Result<> copy_example(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_directories(to, error);
  for (fs::directory_iterator at(from, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename() == "node_modules") continue;
    fs::copy(at->path(), to / at->path().filename(), fs::copy_options::recursive, error);
  }
  if (error) return internal("cannot copy " + from.string() + ": " + error.message());
  return {};
}

Result<> install_packages(const Context& context, Signals& signals, const std::string& directory) {
  context.err("fetching the shop's packages (npm ci) ...\n");
  Result<Child> npm =
      Child::start({{"npm", "ci", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error"}, directory, {}});
  if (!npm) return internal(npm.error().message + kOtelShopNeeds);
  uint64_t give_up = now_monotonic_nano() + kNpmPatienceNano;
  std::optional<int> status = npm->poll();
  for (; !status && now_monotonic_nano() < give_up; status = npm->poll()) {
    if (signals.wait(-1, kNanosPerSecond).stop) return Error{ErrorCode::kCancelled, "interrupted"};
  }
  if (!status) return internal("npm ci did not end in ten minutes");
  if (*status != 0) return internal("npm ci " + describe_exit(*status));
  return {};
}

// Its packages are fetched into the directory that disappears when the source tree has none.
Result<DemoShop> prepare_otel_shop(const Context& context, Signals& signals, const std::string& scratch) {
  Result<std::string> example = example_directory(context, "otel-shop");
  if (!example) return example.error();
  std::error_code ignored;
  if (fs::exists(fs::path(*example) / "node_modules", ignored)) return DemoShop{"node", *example};
  std::string directory = scratch + "/otel-shop";
  Result<> copied = copy_example(*example, directory);
  if (!copied) return copied.error();
  Result<> installed = install_packages(context, signals, directory);
  if (!installed) return installed.error();
  return DemoShop{"node", directory};
}

ChildOptions otel_shop_command(const DemoShop& shop, const Addresses& addresses, uint64_t seconds) {
  ChildOptions options;
  options.command = {shop.program,           "run.mjs", "--otlp-http", "http://" + addresses.otlp_http, "--seconds",
                     std::to_string(seconds)};
  options.directory = shop.directory;
  return options;
}

}  // namespace

const std::vector<DemoApp>& demo_apps() {
  static const std::vector<DemoApp> kApps{
      {"shop", "three gRPC services in C++ with fathom's client", "", true, prepare_shop, shop_command},
      {"otel-shop", "three HTTP services in Node with OpenTelemetry's SDK", kOtelShopNeeds, false, prepare_otel_shop,
       otel_shop_command}};
  return kApps;
}

std::vector<std::string> demo_app_names() {
  std::vector<std::string> names;
  for (const DemoApp& app : demo_apps()) names.push_back(app.name);
  return names;
}

const DemoApp& demo_app(const std::string& name) {
  for (const DemoApp& app : demo_apps()) {
    if (app.name == name) return app;
  }
  return demo_apps().front();
}

Result<std::string> shop_program(const Context& context) {
  Result<std::string> beside = sibling_program(context, "shop");
  if (beside) return beside;
  Result<std::string> example = example_directory(context, "shop");
  std::string built = example ? *example + "/build/shop" : "";
  if (!built.empty() && ::access(built.c_str(), X_OK) == 0) return built;
  return not_found("the demo's shop is not built: " + beside.error().message + (example ? ", or in " + *example : ""));
}

}  // namespace fathom::cli
