// fathom-worker: decodes snapshots and answers questions about them, apart from everything else.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "apps/worker/memory_limit.h"
#include "apps/worker/options.h"
#include "apps/worker/progress.h"
#include "apps/worker/sandbox/confine.h"
#include "apps/worker/sandbox/file_opener.h"
#include "apps/worker/view_session.h"
#include "apps/worker/work.h"
#include "base/sha256.h"
#include "base/time.h"
#include "cli/exit_codes.h"
#include "cli/help.h"
#include "snapshot/format/code_file.h"
#include "snapshot/source/source_files.h"

namespace fathom {

namespace {

constexpr size_t kBufferBytes = 64 << 10;
constexpr int kNiceness = 5;                      // after the programs that serve people
constexpr uint64_t kMostWrittenBytes = 64 << 20;  // in a file: a kept answer has kMostKeptBytes at most

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

void prepare_process(const WorkerOptions& options) {
  ::signal(SIGPIPE, SIG_IGN);
  ::setpriority(PRIO_PROCESS, 0, kNiceness);
  ::unsetenv("DEBUGINFOD_URLS");  // libdw would ask there
  ::tzset();                      // its file cannot be read later
  if (options.task == WorkerTask::kAsk || options.task == WorkerTask::kImport) (void)sha256("");  // reads openssl.cnf
  limit_memory(options.memory_bytes);
}

bool needs_opener(const WorkerOptions& options) {
  return options.opens_host_code || options.opens_host_sources;
}

Result<> start_opener(const WorkerOptions& options) {
  auto started = FileOpener::start({.opens_code = options.opens_host_code,
                                    .opens_sources = options.opens_host_sources,
                                    .is_unsafe = options.is_unsafe});
  if (!started) return started.error();
  const std::shared_ptr<FileOpener> opener = *std::move(started);
  const auto open = [opener](const std::string& path) { return opener->open(path); };
  if (options.opens_host_code) snapshot::set_code_opener(open);
  if (options.opens_host_sources) snapshot::set_source_opener(open);
  return {};
}

// A pipe's reader bounds the answer. An answer to a file, and what is imported, may have any size.
uint64_t most_file_bytes(const WorkerOptions& options) {
  struct stat output {};
  const bool is_file = ::fstat(STDOUT_FILENO, &output) != 0 || S_ISREG(output.st_mode);
  return is_file || options.task == WorkerTask::kImport ? 0 : kMostWrittenBytes;
}

Result<> confine_for(const WorkerOptions& options, const std::vector<AllowedPath>& paths) {
  if (needs_opener(options)) {
    if (auto started = start_opener(options); !started) return started;
  }
  const std::vector<Error> failures = confine({.paths = paths,
                                               .has_opener = needs_opener(options),
                                               .reads_sources = !options.question.source_directories.empty(),
                                               .most_file_bytes = most_file_bytes(options)});
  for (const Error& failure : failures) {
    if (!options.is_unsafe) {
      return Error{failure.code, "fathom-worker cannot confine itself, so it reads nothing: " + failure.message +
                                     "; or accept that a hostile snapshot can take over this user: --unsafe-worker"};
    }
    say("warning: --unsafe-worker: this decoder is not confined: " + failure.message);
  }
  return {};
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
  prepare_process(*options);
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
                              [&](const std::vector<AllowedPath>& paths) { return confine_for(*options, paths); },
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
