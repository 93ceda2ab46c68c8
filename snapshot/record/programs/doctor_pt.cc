// doctor_pt: says in one line, as JSON, whether snapshots by Intel PT work on this host, and if not, why.
//
// Exit status: 0 when they work, 5 when they do not.
#include <cstdio>
#include <filesystem>
#include <string>

#include "snapshot/record/pt/doctor.h"

int main() {
  using namespace fathom::snapshot;
  std::string scratch = std::filesystem::temp_directory_path() / "fathom_doctor_XXXXXX";
  if (::mkdtemp(scratch.data()) == nullptr) return 5;
  const auto system = real_perf_system();
  const auto program = forked_known_program();
  auto directory = SnapshotDirectory::open(scratch);
  PtReport report;
  if (directory)
    report = check_pt(*system, *program, *directory);
  else
    report.says = directory.error().message;
  std::filesystem::remove_all(scratch);
  std::fputs(report_json(report).c_str(), stdout);
  return report.works ? 0 : 5;
}
