// What a recording came to, for people and for programs.
//
// Thread safety: pure functions. Errors: none.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/recorder/options.h"
#include "base/fd.h"
#include "snapshot/record/pt/pt_recorder.h"
#include "snapshot/record/step/record_command.h"

namespace fathom {

// One line for standard error.
std::string report_line(const std::string& text);
// Lines for standard error.
std::string report_text(const RecorderOptions& options, const snapshot::step::StepOutcome& outcome);
// What was asked for and cannot be had by stepping, which `auto` came to; else empty.
std::string stepping_remark(const RecorderOptions& options);
// A hint for a COMMAND that may have failed because of LD_BIND_NOW=1 before anything was recorded; else empty.
// `bound_now`: the recorder set that variable. `wait_status`: the command's, from wait().
std::string binding_hint(bool bound_now, const snapshot::step::StepOutcome& outcome, int wait_status);
// One line: {"snapshot_id":"..." or null,"engine":"step","instructions":N,...}.
// `pushed`: whether the server has it; nothing: it is of no request.
std::string report_json(const snapshot::step::StepOutcome& outcome, std::optional<bool> pushed = std::nullopt);
// By Intel PT each window is a snapshot. Lines for standard error, as soon as one is there.
std::string pt_taken_text(const RecorderOptions& options, const snapshot::TakenSnapshot& taken);
// One line: {"snapshot_id": of the last one, or null,"engine":"pt","snapshot_ids":[...]}.
std::string pt_report_json(const std::vector<snapshot::TakenSnapshot>& taken);

// --json FILE ('-': standard output), where one was asked for: opened before the program runs, so that what is wrong
// with it is said in time.
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

// A command's wait status as shells have it; cli::ExitCode::kNothingRecorded where it is 0, and nothing was recorded.
int exit_status_of(int wait_status, bool recorded);

}  // namespace fathom
