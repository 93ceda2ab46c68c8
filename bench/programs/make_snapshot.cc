// make-snapshot: a snapshot of as many instructions as are wanted, to try something on. See bench/README.md.
#include <cstdio>

#include "bench/options.h"
#include "bench/snapshot/written_stream.h"

namespace fathom::bench {
namespace {

Options make_options() {
  return {"make-snapshot",
          {{"--directory", "", "where it is put: a directory of snapshots, as $FATHOM_SNAPSHOTS names one"},
           {"--instructions", "10000000", "that ran in it"},
           {"--shape", "calls", "calls: a recursion; loops: hardly any call"}}};
}

Result<WrittenStream> make(const Options& options) {
  const std::string& path = options.text("--directory");
  if (path.empty()) return invalid("--directory DIR says where it is put");
  const bool loops = options.text("--shape") == "loops";
  if (!loops && options.text("--shape") != "calls") return invalid("--shape is calls or loops");
  auto directory = snapshot::SnapshotDirectory::open(path);
  if (!directory) return directory.error();
  const uint64_t instructions = options.number("--instructions");
  return write_stream(*directory, loops ? make_loops(instructions) : make_calls(instructions));
}

int run(int argc, char** argv) {
  Options options = make_options();
  if (const auto status = options.parse_or_exit(argc, argv)) return *status;
  auto written = make(options);
  if (!written) {
    std::fprintf(stderr, "make-snapshot: %s\n", written.error().message.c_str());
    return 1;
  }
  std::printf("{\"snapshot_id\":\"%s\"}\n", written->id.hex().c_str());
  return 0;
}

}  // namespace
}  // namespace fathom::bench

int main(int argc, char** argv) {
  return fathom::bench::run(argc, argv);
}
