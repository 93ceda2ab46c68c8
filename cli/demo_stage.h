// What the demo stands on: a server and an agent of its own in a directory that disappears, and one of the example
// shops.
//
// Thread safety: one thread, which holds `signals`. Ownership: both programs are ended, gently first, and the directory
// is removed by the destructor. Errors: kCancelled when a signal came while waiting; all else says what failed and the
// cure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/addresses.h"
#include "cli/child.h"
#include "cli/context.h"
#include "cli/demo_app.h"
#include "cli/places.h"
#include "cli/signals.h"

namespace fathom::cli {

class DemoStage {
 public:
  DemoStage(const Context& context, Signals& signals) : context_(context), signals_(signals) {}
  ~DemoStage();

  // `fathom up` on free ports.
  Result<Addresses> start_server();
  // What the shop needs before it can be started.
  Result<> prepare_shop(const DemoApp& app);
  // Load for so long, 0: until told to stop.
  Result<> start_shop(const DemoApp& app, const Addresses& addresses, uint64_t seconds);

  // Until the shop has ended by itself, well.
  Result<> wait_for_shop();
  // For so long, or (UINT64_MAX) until a signal; an error when a program dies meanwhile. True: the time is over.
  Result<bool> wait(uint64_t duration_nano);
  // Another program, beside the shop, to its end: its wait status.
  Result<int> run(const ChildOptions& options);
  // What is made there disappears with the demo.
  const std::string& directory() const { return directory_->path(); }
  // The shop first, so that its last spans are still taken.
  void stop();

 private:
  Result<std::string> read_line(int descriptor);
  Result<> check_server_runs();

  const Context& context_;
  Signals& signals_;
  std::optional<TemporaryDirectory> directory_;
  DemoShop prepared_;
  std::optional<Child> server_;
  std::optional<Child> shop_;
  std::optional<Child> other_;
};

}  // namespace fathom::cli
