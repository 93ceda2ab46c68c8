#include "apps/recorder/by_pt.h"

#include <sys/wait.h>

#include <cstdio>

#include "apps/recorder/report.h"
#include "cli/exit_codes.h"
#include "snapshot/record/pt/doctor.h"
#include "snapshot/record/pt/pt_command.h"

namespace fathom {
namespace {

using namespace snapshot;  // NOLINT(google-build-using-namespace)

int refuse(const std::string& message) {
  std::fprintf(stderr, "fathom record: %s\n", message.c_str());
  return static_cast<int>(cli::ExitCode::kLocalFailure);
}

}  // namespace

int record_by_pt(const RecorderOptions& options) {
  if (!options.function.empty() || !options.span.empty()) {
    return refuse("by Intel PT a command is recorded whole; --function and --span want --engine step");
  }
  auto directory = SnapshotDirectory::open(options.directory);
  if (!directory) return refuse(directory.error().message);
  const auto system = real_perf_system();
  auto outcome = record_pt_command(*system, *directory, PtOptions(), options.command);
  if (!outcome) return refuse(outcome.error().message + "; --engine step works anywhere");
  std::fprintf(stderr, "fathom record: engine pt: %lu bytes of packets are snapshot %s\n",
               outcome->taken.cost.packet_bytes, outcome->taken.id.hex().c_str());
  if (auto written = write_report(options, pt_report_json(outcome->taken.id)); !written) {
    std::fprintf(stderr, "fathom record: %s\n", written.error().message.c_str());
  }
  return exit_status_of(outcome->wait_status);
}

std::string pt_doctor_answer() {
  return report_json(check_pt_of_this_host());
}

}  // namespace fathom
