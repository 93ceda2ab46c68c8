// The whole shop: three services on free ports, and the load, until its end or until told to stop.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

#include "flags.h"
#include "load.h"
#include "parts.h"
#include "process.h"
#include "service.h"

namespace shop {

namespace {

constexpr const char* kFree = "127.0.0.1:0";

// Where inventory's thread writes, removed at the end when it was made here.
class Directory {
 public:
  explicit Directory(const std::string& given) : path_(given) {
    if (!given.empty()) return;
    const char* root = std::getenv("TMPDIR");
    path_ = std::string(root == nullptr ? "/tmp" : root) + "/shop-XXXXXX";
    ours_ = ::mkdtemp(path_.data()) != nullptr;
  }
  ~Directory() {
    std::error_code ignored;
    if (ours_) std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
  bool ours_ = false;
};

std::vector<std::string> command(const char* part, const std::vector<std::string>& flags) {
  std::vector<std::string> words{part, "--listen", kFree};
  words.insert(words.end(), flags.begin(), flags.end());
  return words;
}

struct Service {
  Service(const char* part, const std::vector<std::string>& flags)
      : name(part), process(command(part, flags)), address(process.first_line()) {
    if (address.empty()) std::fprintf(stderr, "shop: %s did not start\n", name);
  }
  // True: it ended as it should.
  bool end() {
    bool was_there = process.running();
    process.stop();
    int status = process.wait();
    if (!was_there || status != 0) std::fprintf(stderr, "shop: %s ended with status %d\n", name, status);
    return was_there && status == 0;
  }

  const char* const name;
  Process process;
  const std::string address;
};

int load_them(const Flags& flags, Service& gateway, const std::vector<Service*>& all) {
  LoadOptions options;
  options.gateway = gateway.address;
  options.seconds = static_cast<double>(flags.number("--seconds"));
  options.rate = static_cast<double>(std::max<uint64_t>(flags.number("--rate"), 1));
  options.seed = flags.number("--seed");
  options.pause = [&all](int64_t nano) {
    for (Service* service : all) {
      if (!service->process.running()) return true;
    }
    return wait_for_stop(nano);
  };
  LoadOutcome outcome = run_load(options);
  std::printf("%s\n", outcome.json.c_str());
  return outcome.failed == 0 ? 0 : 1;
}

}  // namespace

int run_all(const std::vector<std::string>& words) {
  Flags flags(words,
              {{"--seconds", "20"}, {"--rate", "100"}, {"--seed", "1"}, {"--items", "300000"}, {"--directory", ""}});
  hold_signals();
  name_program("load");
  Directory directory(flags.text("--directory"));
  Service inventory("inventory", {"--items", flags.text("--items"), "--snapshot", directory.file("stock.txt")});
  Service catalog("catalog", {"--inventory", inventory.address});
  Service gateway("gateway", {"--catalog", catalog.address, "--inventory", inventory.address});
  // Front to back, so that each still has those it calls while it finishes.
  std::vector<Service*> all{&gateway, &catalog, &inventory};
  int status = load_them(flags, gateway, all);
  for (Service* service : all) status = service->end() ? status : 1;
  let_spans_be_taken();
  return status;
}

}  // namespace shop
