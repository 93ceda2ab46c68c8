#include "cli/demo_stage.h"

#include <signal.h>

#include <algorithm>

#include "base/time.h"

namespace fathom::cli {

namespace {

constexpr const char* kSlow = "40ms";
constexpr uint64_t kShopGraceNano = 15 * kNanosPerSecond;    // it flushes its last spans
constexpr uint64_t kServerGraceNano = 70 * kNanosPerSecond;  // `up` itself kills each of its two after 30

Error interrupted() {
  return {ErrorCode::kCancelled, "interrupted"};
}

void end_child(std::optional<Child>& child, uint64_t grace_nano) {
  if (!child) return;
  child->signal(SIGTERM);
  child->wait(grace_nano);
  child.reset();  // kills what is still there
}

}  // namespace

DemoStage::~DemoStage() {
  stop();
}

void DemoStage::stop() {
  end_child(other_, kShopGraceNano);
  end_child(shop_, kShopGraceNano);
  end_child(server_, kServerGraceNano);
}

Result<std::string> DemoStage::read_line(int descriptor) {
  std::string text;
  while (text.find('\n') == std::string::npos) {
    Signals::Wakeup wakeup = signals_.wait(descriptor, UINT64_MAX);
    if (wakeup.stop) return interrupted();
    if (!wakeup.readable) continue;
    char buffer[512];
    ssize_t size = ::read(descriptor, buffer, sizeof buffer);
    if (size <= 0) return internal("the server could not be started; its own words are above");
    text.append(buffer, static_cast<size_t>(size));
  }
  return text.substr(0, text.find('\n'));
}

Result<Addresses> DemoStage::start_server() {
  Result<TemporaryDirectory> directory = TemporaryDirectory::make(context_, "fathom-demo-");
  if (!directory) return directory.error();
  directory_.emplace(*std::move(directory));
  Result<Pipe> output = make_pipe();
  if (!output) return output.error();
  const char* free_port = "127.0.0.1:0";
  // A socket of its own: programs of this host that look for an agent are no part of the demo. A threshold: there is no
  // time to learn what is usual.
  std::vector<std::string> command{context_.executable,
                                   "up",
                                   "--data",
                                   directory_->path() + "/data",
                                   "--http",
                                   free_port,
                                   "--otlp-grpc",
                                   free_port,
                                   "--otlp-http",
                                   free_port,
                                   "--ingest",
                                   free_port,
                                   "--agent-socket",
                                   directory_->path() + "/agent.sock",
                                   "--capture-threshold",
                                   kSlow};
  // The shop's own text, beside the instructions of a recorded request.
  // Wherever it was compiled: with ccache, that may be another clone.
  if (auto shop = example_directory(context_, "shop")) command.push_back("--source-dir=*/examples/shop=" + *shop);
  Result<Child> child = Child::start({command, "", {{1, output->write.get()}}});
  if (!child) return child.error();
  server_ = *std::move(child);
  output->write.close();
  Result<std::string> line = read_line(output->read.get());
  if (!line) return line.error();
  return parse_addresses(*line);
}

Result<> DemoStage::prepare_shop(const DemoApp& app) {
  Result<DemoShop> prepared = app.prepare(context_, signals_, directory_->path());
  if (!prepared) return prepared.error();
  prepared_ = *std::move(prepared);
  return {};
}

Result<> DemoStage::start_shop(const DemoApp& app, const Addresses& addresses, uint64_t seconds) {
  ChildOptions options = app.command(prepared_, addresses, seconds);
  Result<Child> shop = Child::start(options);
  if (!shop) return internal(shop.error().message + app.cure);
  shop_ = *std::move(shop);
  return {};
}

Result<> DemoStage::check_server_runs() {
  std::optional<int> status = server_->poll();
  if (!status) return {};
  return internal("the server " + describe_exit(*status));
}

Result<> DemoStage::wait_for_shop() {
  std::optional<int> status = shop_->poll();
  for (; !status; status = shop_->poll()) {
    Result<> runs = check_server_runs();
    if (!runs) return runs;
    // A second is only how late an end could be noticed whose signal was merged with another one.
    if (signals_.wait(-1, kNanosPerSecond).stop) return interrupted();
  }
  shop_.reset();
  if (*status != 0) return internal("the shop " + describe_exit(*status));
  return {};
}

Result<int> DemoStage::run(const ChildOptions& options) {
  Result<Child> child = Child::start(options);
  if (!child) return child.error();
  other_ = *std::move(child);
  std::optional<int> status = other_->poll();
  for (; !status; status = other_->poll()) {
    Result<> runs = check_server_runs();
    if (!runs) return runs.error();
    if (signals_.wait(-1, kNanosPerSecond).stop) return interrupted();
  }
  other_.reset();
  return *status;
}

Result<bool> DemoStage::wait(uint64_t duration_nano) {
  uint64_t begin = now_monotonic_nano();
  for (uint64_t waited = 0; waited < duration_nano; waited = now_monotonic_nano() - begin) {
    Result<> runs = check_server_runs();
    if (!runs) return runs.error();
    if (auto status = shop_->poll()) return internal("the shop " + describe_exit(*status));
    if (signals_.wait(-1, std::min(duration_nano - waited, kNanosPerSecond)).stop) return false;
  }
  return true;
}

}  // namespace fathom::cli
