// worker_escape: one attempt of an attacker who controls a decoder, by a process that is confined or is not.
//
// worker_escape --list                                prints a line for each attempt: "attack NAME" or "work NAME"
// worker_escape NAME confined|free DIRECTORY UID      prints "succeeded", "failed ERRNO" or "killed SIGNAL"
//
// DIRECTORY holds `secret` and a directory `snapshots` of SnapshotDirectory's layout. The process first becomes UID (of
// root only). The parent plays the server: it holds the secret in its memory and lets every process trace it.
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "apps/worker/sandbox/confine.h"
#include "apps/worker/testing/escape_attempts.h"
#include "apps/worker/work_paths.h"

namespace fathom::escape {

namespace {

constexpr int kNotConfined = 201;  // exit statuses that are no error numbers
char secret_in_memory[] = "secret";

std::optional<Attempt> find_attempt(std::string_view name) {
  for (const auto attempts : {file_attempts(), process_attempts(), kernel_attempts(), work_attempts()}) {
    for (const Attempt& attempt : attempts) {
      if (name == attempt.name) return attempt;
    }
  }
  return std::nullopt;
}

int list_all() {
  for (const auto attempts : {file_attempts(), process_attempts(), kernel_attempts(), work_attempts()}) {
    for (const Attempt& attempt : attempts) std::printf("%s %s\n", attempt.is_work ? "work" : "attack", attempt.name);
  }
  return 0;
}

// The paths of a question about one snapshot, as fathom-worker gives them.
std::vector<AllowedPath> paths_of_question(const Target& target, const snapshot::SnapshotId& id) {
  WorkerOptions options;
  options.task = WorkerTask::kAsk;
  options.directory = target.directory;
  snapshot::Question question;
  question.id = id;
  return work_paths(options, question);
}

Target target_in(const std::string& directory, const snapshot::SnapshotId& id) {
  const std::string snapshots = directory + "/snapshots";
  const snapshot::SnapshotId other;
  return {.server = ::getpid(),
          .memory = secret_in_memory,
          .secret = directory + "/secret",
          .directory = snapshots,
          .own_snapshot = snapshots + "/snapshots/" + id.hex() + ".snapshot",
          .other_snapshot = snapshots + "/snapshots/" + other.hex() + ".snapshot"};
}

bool become(uid_t uid) {
  if (::geteuid() != uid &&
      (::setgroups(0, nullptr) != 0 || ::setresgid(uid, uid, uid) != 0 || ::setresuid(uid, uid, uid) != 0)) {
    return false;
  }
  ::prctl(PR_SET_DUMPABLE, 1);
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  return true;
}

// Standard input has a byte to read, standard error can be read, and a descriptor of the secret is inherited.
void place_descriptors(const Target& target) {
  int ends[2];
  if (::pipe(ends) != 0 || ::write(ends[1], "x", 1) != 1) std::abort();
  ::dup2(ends[0], STDIN_FILENO);
  ::dup2(::open("/dev/zero", O_RDWR), STDERR_FILENO);
  ::dup2(::open(target.secret.c_str(), O_RDONLY), kInheritedDescriptor);
}

[[noreturn]] void attempt_and_end(const Attempt& attempt, const Target& target, bool is_confined,
                                  const snapshot::SnapshotId& id) {
  if (is_confined && !confine({.paths = paths_of_question(target, id)}).empty()) ::_exit(kNotConfined);
  ::_exit(attempt.run(target));
}

int print_end(int status) {
  if (WIFSIGNALED(status)) {
    std::printf("killed %d\n", WTERMSIG(status));
  } else if (WEXITSTATUS(status) == kNotConfined) {
    std::printf("not confined\n");
  } else if (WEXITSTATUS(status) != 0) {
    std::printf("failed %d %s\n", WEXITSTATUS(status), ::strerror(WEXITSTATUS(status)));
  } else {
    std::printf("succeeded\n");
  }
  return 0;
}

int run(const char* name, bool is_confined, const std::string& directory, uid_t uid) {
  const auto attempt = find_attempt(name);
  if (!attempt || !become(uid)) return 2;
  snapshot::SnapshotId id;
  id.bytes[0] = 1;
  const Target target = target_in(directory, id);
  const pid_t pid = ::fork();
  if (pid == 0) {
    place_descriptors(target);
    attempt_and_end(*attempt, target, is_confined, id);
  }
  int status = 0;
  while (pid > 0 && ::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return pid > 0 ? print_end(status) : 2;
}

}  // namespace

}  // namespace fathom::escape

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) return fathom::escape::list_all();
  if (argc != 5) return 2;
  return fathom::escape::run(argv[1], std::strcmp(argv[2], "confined") == 0, argv[3],
                             static_cast<uid_t>(std::strtoul(argv[4], nullptr, 10)));
}
