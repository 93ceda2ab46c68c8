// The shops that the demo can run: `shop`, in C++ with fathom's own client, and `otel-shop`, in Node with
// OpenTelemetry's.
//
// Thread safety: one thread. Errors: what is missing, with the cure; kCancelled when a signal came while packages were
// fetched.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/addresses.h"
#include "cli/child.h"
#include "cli/context.h"
#include "cli/signals.h"

namespace fathom::cli {

// Ready to be started.
struct DemoShop {
  std::string program;
  std::string directory;  // where it runs, or what it may write to
};

struct DemoApp {
  std::string name;
  std::string summary;  // for the help
  std::string cure;     // what it needs, when it cannot be started
  bool recordable;      // its instructions can be recorded: it has fathom's own client
  // `scratch` is a directory that disappears at the end.
  Result<DemoShop> (*prepare)(const Context& context, Signals& signals, const std::string& scratch);
  // Its load ends by itself after so many seconds; 0: when it is told.
  ChildOptions (*command)(const DemoShop& shop, const Addresses& addresses, uint64_t seconds);
};

// The first one is what runs unless another is asked for.
const std::vector<DemoApp>& demo_apps();
std::vector<std::string> demo_app_names();
const DemoApp& demo_app(const std::string& name);  // one of those names

// The program of `shop`: beside our own, or built where its sources are.
Result<std::string> shop_program(const Context& context);

}  // namespace fathom::cli
