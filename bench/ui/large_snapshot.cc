#include "bench/ui/large_snapshot.h"

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>

#include "bench/server.h"
#include "bench/tracers/subprocess.h"

namespace fathom::bench {

namespace {

constexpr int kMakeSeconds = 300;
constexpr int kPushSeconds = 120;

Result<std::string> output_of(const tracers::Command& command, int limit_seconds) {
  auto ended = tracers::run_to_end(command, limit_seconds);
  if (!ended) return ended.error();
  if (!ended->fine()) return unavailable(command.words[0] + " failed: " + ended->output);
  return std::move(ended->output);
}

// What make-snapshot prints, and what it says meanwhile.
Result<std::string> id_in(const std::string& output) {
  boost::json::error_code fault;
  const auto answer = boost::json::parse(output.substr(std::min(output.find('{'), output.size())), fault);
  const auto* object = fault ? nullptr : answer.if_object();
  const auto* id = object != nullptr ? object->if_contains("snapshot_id") : nullptr;
  if (id == nullptr || !id->is_string()) return unavailable("make-snapshot printed no id: " + output);
  return std::string(id->as_string());
}

Result<std::string> push_from(const std::string& directory, const LargeSnapshot& wanted) {
  auto made =
      output_of({{wanted.maker, "--directory", directory, "--instructions", std::to_string(wanted.instructions)}, {}},
                kMakeSeconds);
  if (!made) return made;
  auto id = id_in(*made);
  if (!id) return id;
  auto pushed = output_of(
      {{wanted.fathom, "snapshot", "push", *id, "--url", "http://" + wanted.http}, {{"FATHOM_SNAPSHOTS", directory}}},
      kPushSeconds);
  return pushed ? id : pushed;
}

}  // namespace

Result<std::string> push_large_snapshot(const LargeSnapshot& wanted, const std::string& work_directory) {
  Result<std::string> directory = make_run_directory(work_directory);
  if (!directory) return directory;
  Result<std::string> id = push_from(*directory, wanted);
  std::error_code ignored;
  std::filesystem::remove_all(*directory, ignored);
  return id;
}

}  // namespace fathom::bench
