// Any bytes as a spool file: opening and draining it ends, reads nothing outside, and hands out only what is whole.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "node-agent/uplink/spool.h"

namespace {

struct Directory {
  Directory() : path("/tmp/fathom_spool_fuzzXXXXXX") {
    if (::mkdtemp(path.data()) == nullptr) std::abort();
  }
  ~Directory() { std::filesystem::remove_all(path); }
  std::string path;
};

const std::string& directory() {
  static const Directory kDirectory;
  return kDirectory.path;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fathom::agent;
  std::ofstream(directory() + "/0000000000000001.spool", std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  SpoolOptions options{.directory = directory(), .limit_bytes = 64 << 20, .file_bytes = 4096, .boot_id = {}};
  auto spool = Spool::open(options);
  if (!spool) std::abort();
  uint64_t bytes = 0;
  uint64_t waiting = (*spool)->waiting();
  for (uint64_t n = 0; n <= waiting; ++n) {
    auto batch = (*spool)->take_next();
    if (!batch.ok()) std::abort();
    if (!batch->has_value()) break;
    bytes += (*batch)->otlp.size();
    if (n % 3 == 0) (*spool)->release((*batch)->id);
    (*spool)->remove((*batch)->id);
  }
  if (bytes > size || (*spool)->waiting() != 0) std::abort();
  if (!(*spool)->append({}, "more", false).ok() || (*(*spool)->take_next())->otlp != "more") std::abort();
  for (const auto& entry : std::filesystem::directory_iterator(directory())) std::filesystem::remove_all(entry.path());
  return 0;
}
