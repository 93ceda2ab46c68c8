// What a recording came to, for people and for programs.
//
// Thread safety: pure functions. Errors: none.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "apps/recorder/options.h"
#include "base/fd.h"
#include "snapshot/record/pt/pt_recorder.h"
#include "snapshot/record/step/record_command.h"

namespace fathom {

// Lines for standard error.
std::string report_text(const RecorderOptions& options, const snapshot::step::StepOutcome& outcome);
// One line: {"snapshot_id":"..." or null,"engine":"step","instructions":N,...}.
std::string report_json(const snapshot::step::StepOutcome& outcome);
// By Intel PT each window is a snapshot. Lines for standard error, as soon as one is there.
std::string pt_taken_text(const RecorderOptions& options, const snapshot::TakenSnapshot& taken);
// One line: {"snapshot_id": of the last one, or null,"engine":"pt","snapshot_ids":[...]}.
std::string pt_report_json(const std::vector<snapshot::TakenSnapshot>& taken);

// --json FILE, where one was asked for: opened before the program runs, so that what is wrong with it is said in time.
class ReportFile {
 public:
  static Result<ReportFile> open(const RecorderOptions& options);
  // In the place of what was there.
  Result<> write(const std::string& json) const;

 private:
  ReportFile(Fd file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  Fd file_;  // closed: nobody asked
  std::string path_;
};

// A command's wait status as shells have it.
int exit_status_of(int wait_status);

}  // namespace fathom
