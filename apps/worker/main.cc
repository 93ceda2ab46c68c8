// fathom-worker: decodes snapshots and answers questions about them, apart from everything else.
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "apps/worker/confine.h"
#include "apps/worker/options.h"
#include "apps/worker/progress.h"
#include "apps/worker/view_session.h"
#include "apps/worker/work.h"
#include "base/time.h"
#include "cli/exit_codes.h"
#include "cli/help.h"

namespace fathom {

namespace {

constexpr size_t kBufferBytes = 64 << 10;

// Standard output, in pieces that are worth a system call.
class BufferedOutput {
 public:
  bool begun() const { return begun_; }
  bool write(std::string_view piece) {
    begun_ = true;
    buffer_ += piece;
    return buffer_.size() < kBufferBytes ? fault_ == 0 : flush();
  }
  bool flush() {
    for (std::string_view left = buffer_; !left.empty() && fault_ == 0;) {
      const ssize_t written = ::write(STDOUT_FILENO, left.data(), left.size());
      if (written < 0 && errno != EINTR) fault_ = errno;
      if (written > 0) left.remove_prefix(static_cast<size_t>(written));
    }
    buffer_.clear();
    return fault_ == 0;
  }
  // A reader that went away has what it wanted.
  Result<> finish() {
    if (flush() || fault_ == EPIPE) return {};
    errno = fault_;
    return system_error("cannot write the answer");
  }

 private:
  std::string buffer_;
  bool begun_ = false;
  int fault_ = 0;
};

void say(std::string_view line) {
  std::fprintf(stderr, "fathom: %.*s\n", static_cast<int>(line.size()), line.data());
}

// Rows that come are progress enough; and whoever reads them by a pager has the terminal for them.
ProgressLine progress_on_terminal() {
  const auto tell = [](std::string_view text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); };
  return {::isatty(STDERR_FILENO) == 1 ? std::function<void(std::string_view)>(tell) : nullptr, now_monotonic_nano};
}

cli::ExitCode refuse(cli::ExitCode code, const std::string& message) {
  say(message);
  return code;
}

cli::ExitCode code_of(const Error& error) {
  if (error.code == ErrorCode::kNotFound) return cli::ExitCode::kNothingFound;
  return error.code == ErrorCode::kInvalid ? cli::ExitCode::kUsage : cli::ExitCode::kLocalFailure;
}

cli::ExitCode run(const std::vector<std::string>& words) {
  if (words == std::vector<std::string>{"--version"}) {
    std::puts("fathom-worker " FATHOM_VERSION);
    return cli::ExitCode::kOk;
  }
  Result<cli::Args> args = cli::parse_args(worker_command_line(), words);
  if (!args) return refuse(cli::ExitCode::kUsage, args.error().message);
  if (args->wants_help()) {
    std::fputs(cli::command_help(worker_command_line()).c_str(), stdout);
    return cli::ExitCode::kOk;
  }
  const char* home = std::getenv("HOME");
  Result<WorkerOptions> options = worker_options(*args, {home == nullptr ? "" : home});
  if (!options) return refuse(cli::ExitCode::kUsage, options.error().message);
  ::signal(SIGPIPE, SIG_IGN);
  confine(options->memory_bytes);
  BufferedOutput out;
  ProgressLine progress = progress_on_terminal();
  const WorkerStreams streams{[&](std::string_view piece) {
                                progress.clear();
                                return out.write(piece);
                              },
                              [&](std::string_view line) {
                                progress.clear();
                                say(line);
                              },
                              [&](std::string_view what, uint64_t done, uint64_t all) {
                                if (!out.begun()) progress.at(what, done, all);
                              },
                              [&, asks = LineReader(STDIN_FILENO)]() mutable -> std::optional<std::string> {
                                // Whoever asked waits for all of the answer before they ask again.
                                if (!out.flush()) return std::nullopt;
                                return asks.next();
                              }};
  Result<> done = work(*options, streams);
  progress.clear();
  Result<> written = out.finish();
  if (!done) return refuse(code_of(done.error()), done.error().message);
  if (!written) return refuse(cli::ExitCode::kLocalFailure, written.error().message);
  return cli::ExitCode::kOk;
}

}  // namespace

}  // namespace fathom

int main(int argc, char** argv) {
  return static_cast<int>(fathom::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc)));
}
