#include "cli/demo_stage.h"

#include <signal.h>

#include <filesystem>
#include <system_error>

#include "base/time.h"

namespace fathom::cli {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kShopGraceNano = 15 * kNanosPerSecond;    // it flushes its last spans
constexpr uint64_t kServerGraceNano = 70 * kNanosPerSecond;  // `up` itself kills each of its two after 30
constexpr uint64_t kNpmPatienceNano = 10 * kNanosPerMinute;
constexpr const char* kNodeCure = "; the demo needs Node 18.19 or later and npm ('fathom doctor' says what is here)";

Error interrupted() {
  return {ErrorCode::kCancelled, "interrupted"};
}

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
  // A socket of its own: programs of this host that look for an agent are no part of the demo.
  Result<Child> child = Child::start({{context_.executable, "up", "--data", directory_->path() + "/data", "--http",
                                       free_port, "--otlp-grpc", free_port, "--otlp-http", free_port, "--ingest",
                                       free_port, "--agent-socket", directory_->path() + "/agent.sock"},
                                      "",
                                      {{1, output->write.get()}}});
  if (!child) return child.error();
  server_ = *std::move(child);
  output->write.close();
  Result<std::string> line = read_line(output->read.get());
  if (!line) return line.error();
  return parse_addresses(*line);
}

Result<> DemoStage::prepare_shop() {
  Result<std::string> example = example_directory(context_, "otel-shop");
  if (!example) return example.error();
  std::error_code ignored;
  shop_directory_ = *example;
  if (fs::exists(fs::path(*example) / "node_modules", ignored)) return {};
  shop_directory_ = directory_->path() + "/otel-shop";
  Result<> copied = copy_example(*example, shop_directory_);
  return copied ? install_packages() : copied;
}

Result<> DemoStage::install_packages() {
  context_.err("fetching the shop's packages (npm ci) ...\n");
  Result<Child> npm =
      Child::start({{"npm", "ci", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error"}, shop_directory_, {}});
  if (!npm) return internal(npm.error().message + kNodeCure);
  uint64_t give_up = now_monotonic_nano() + kNpmPatienceNano;
  std::optional<int> status = npm->poll();
  for (; !status && now_monotonic_nano() < give_up; status = npm->poll()) {
    if (signals_.wait(-1, kNanosPerSecond).stop) return interrupted();
  }
  if (!status) return internal("npm ci did not end in ten minutes");
  if (*status != 0) return internal("npm ci " + describe_exit(*status));
  return {};
}

Result<> DemoStage::start_shop(const std::string& otlp_http, uint64_t seconds) {
  std::vector<std::string> command{
      "node", "run.mjs", "--otlp-http", "http://" + otlp_http, "--seconds", std::to_string(seconds)};
  Result<Child> shop = Child::start({command, shop_directory_, {}});
  if (!shop) return internal(shop.error().message + kNodeCure);
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
