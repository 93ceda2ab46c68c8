#include "node-agent/snapshots/node_snapshots.h"

#include <filesystem>
#include <utility>

#include "base/log.h"
#include "node-agent/snapshots/snapshot_metrics.h"
#include "snapshot/record/pt/stand_in_perf.h"

namespace fathom::agent {

namespace {

Result<std::unique_ptr<snapshot::PerfSystem>> make_system(const NodeSnapshotOptions& options) {
  if (!options.stand_in) return snapshot::real_perf_system();
  const std::string scratch = options.directory + "/stand-in";
  std::error_code code;
  std::filesystem::remove_all(scratch, code);
  std::filesystem::create_directories(scratch, code);
  if (code) return internal("cannot make " + scratch + ": " + code.message());
  return snapshot::stand_in_perf_system(scratch);
}

// Of the user's making, and not the host's.
bool is_to_be_refused(const Error& error) {
  return error.code == ErrorCode::kInvalid || error.code == ErrorCode::kNotFound;
}

}  // namespace

Result<std::unique_ptr<NodeSnapshots>> NodeSnapshots::make(
    const NodeSnapshotOptions& options, const std::function<std::unique_ptr<SnapshotLink>()>& open_link) {
  if (!options.armed && !SnapshotSpool::has_any(options.directory)) return std::unique_ptr<NodeSnapshots>();
  list_snapshot_metrics();
  auto spool = SnapshotSpool::open(options.directory, options.spool_bytes);
  if (!spool) return spool.error();
  auto made = std::make_unique<NodeSnapshots>();
  made->spool_ = *std::move(spool);
  made->courier_ = std::make_unique<SnapshotCourier>(*made->spool_, open_link());
  if (auto armed = made->arm(options); !armed) return armed.error();
  return made;
}

Result<> NodeSnapshots::arm(const NodeSnapshotOptions& options) {
  if (!options.armed) return {};
  auto started = start(options);
  if (started || is_to_be_refused(started.error())) return started;
  log_warning("Intel PT does not record, and no snapshots are cut: " + started.error().message);
  system_.reset();
  bell_ = std::make_unique<DeafBell>();
  return {};
}

Result<> NodeSnapshots::start(const NodeSnapshotOptions& options) {
  auto system = make_system(options);
  if (!system) return system.error();
  system_ = *std::move(system);
  auto recorder = PtFlowRecorder::arm(*system_, spool_->directory(), options.flow);
  if (!recorder) return recorder.error();
  marks_spans_ = (*recorder)->marks_spans();
  SnapshotServiceOptions service = options.service;
  service.cut = [this](const CutSnapshot&) {
    spool_->trim();
    courier_->notify();
  };
  bell_ = std::make_unique<SnapshotService>(std::move(service), *std::move(recorder));
  pt_armed().set(1);
  if (options.flow.all_users) log_warning("snapshots show the programs of all users (--pt-all-users)");
  if (options.flow.private_images)
    log_warning("snapshots have files that not everybody may read (--pt-private-images)");
  log_info(options.stand_in ? "a stand-in for Intel PT records nothing" : "Intel PT records the whole node");
  return {};
}

}  // namespace fathom::agent
