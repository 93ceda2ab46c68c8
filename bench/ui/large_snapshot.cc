#include "bench/ui/large_snapshot.h"

#include <filesystem>

#include "bench/server.h"
#include "bench/snapshot/streams.h"
#include "bench/snapshot/written_stream.h"
#include "bench/tracers/subprocess.h"

namespace fathom::bench {

namespace {

constexpr int kPushSeconds = 120;

Result<std::string> push_from(const std::string& directory, const std::string& fathom, const std::string& http,
                              uint64_t instructions) {
  auto opened = snapshot::SnapshotDirectory::open(directory);
  if (!opened) return opened.error();
  auto written = write_stream(*opened, make_calls(instructions));
  if (!written) return written.error();
  const std::string id = written->id.hex();
  auto pushed = tracers::run_to_end(
      {{fathom, "snapshot", "push", id, "--url", "http://" + http}, {{"FATHOM_SNAPSHOTS", directory}}}, kPushSeconds);
  if (!pushed) return pushed.error();
  if (!pushed->fine()) return unavailable("fathom snapshot push failed: " + pushed->output);
  return id;
}

}  // namespace

Result<std::string> push_large_snapshot(const std::string& fathom, const std::string& http, uint64_t instructions,
                                        const std::string& work_directory) {
  Result<std::string> directory = make_run_directory(work_directory);
  if (!directory) return directory;
  Result<std::string> id = push_from(*directory, fathom, http, instructions);
  std::error_code ignored;
  std::filesystem::remove_all(*directory, ignored);
  return id;
}

}  // namespace fathom::bench
