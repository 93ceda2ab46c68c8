// The confinement of fathom-worker, attacked from within (apps/worker/testing), and what it does where it cannot
// confine itself.
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "apps/worker/sandbox/confine.h"
#include "apps/worker/sandbox/file_opener.h"
#include "apps/worker/sandbox/sanitized.h"
#include "apps/worker/sandbox/seccomp_filter.h"
#include "base/testing/temp_directory.h"
#include "base/time.h"
#include "cli/child.h"

namespace fathom {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kOrdinaryUser = 65534;
constexpr const char* kOwn = "01000000000000000000000000000000.snapshot";
constexpr const char* kOther = "00000000000000000000000000000000.snapshot";

std::string beside_this_test(const std::string& program) {
  return (fs::read_symlink("/proc/self/exe").parent_path() / program).string();
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// A secret, and a directory with two snapshots, all of them one user's.
class Scene {
 public:
  explicit Scene(uid_t owner) {
    for (const char* part : {"snapshots", "images", "results", "drafts"}) {
      fs::create_directories(snapshots() + "/" + part);
    }
    write_file(path() + "/secret", "secret");
    for (const char* name : {kOwn, kOther}) write_file(snapshots() + "/snapshots/" + name, "packets");
    give_to(owner, path());
    for (const auto& entry : fs::recursive_directory_iterator(path())) give_to(owner, entry.path());
  }
  std::string path() const { return directory_.path(); }
  std::string snapshots() const { return path() + "/snapshots"; }

 private:
  static void give_to(uid_t owner, const std::string& path) {
    EXPECT_TRUE(::geteuid() != 0 || ::chown(path.c_str(), owner, owner) == 0) << path;
  }
  TempDirectory directory_;
};

std::string attempt(const std::string& name, const std::string& how, uid_t user) {
  const Scene scene(user);
  auto printed = cli::run_and_capture(
      {beside_this_test("worker_escape"), name, how, scene.path(), std::to_string(user)}, 60 * kNanosPerSecond);
  return printed ? printed->substr(0, printed->find('\n')) : printed.error().message;
}

std::vector<std::string> attempts(const std::string& kind) {
  auto listed = cli::run_and_capture({beside_this_test("worker_escape"), "--list"}, 60 * kNanosPerSecond);
  EXPECT_TRUE(listed) << listed.error().message;
  std::istringstream lines(listed ? *listed : "");
  std::vector<std::string> names;
  for (std::string one, name; lines >> one >> name;) {
    if (one == kind) names.push_back(name);
  }
  return names;
}

// Root attacks with more rights. An ordinary user is what the server is.
std::vector<uid_t> users() {
  if (::geteuid() == 0) return {0, kOrdinaryUser};
  return {::geteuid()};
}

bool is_denied(const std::string& end) {
  return end.starts_with("failed ") || end == "killed " + std::to_string(SIGSYS);
}

// Attempts that every kernel and container allows a process that is not confined. If one of these fails, the attempts
// prove nothing.
constexpr const char* kPossibleAnywhere[] = {
    "execve",         "execveat",        "fork",           "clone-process",           "read-secret",
    "read-passwd",    "map-secret",      "write-secret",   "read-other-snapshot",     "read-inherited-descriptor",
    "create-outside", "truncate-secret", "unlink-secret",  "rename-secret",           "replace-snapshot-by-rename",
    "change-mode",    "kill-server",     "tgkill-server",  "write-own-snapshot",      "truncate-by-open",
    "socket-unix",    "socketpair",      "make-directory", "mmap-executable",         "mprotect-executable",
    "list-root",      "change-times",    "make-dumpable",  "another-filter-by-prctl",
};

TEST(WorkerSandbox, NoAttackSucceeds) {
  const auto names = attempts("attack");
  ASSERT_GT(names.size(), 100u);
  for (const uid_t user : users()) {
    for (const std::string& name : names) {
      EXPECT_PRED1(is_denied, attempt(name, "confined", user)) << name << " as user " << user;
    }
  }
}

TEST(WorkerSandbox, TheSameAttacksSucceedWithoutIt) {
  for (const uid_t user : users()) {
    size_t possible = 0;
    for (const std::string& name : attempts("attack")) {
      const std::string end = attempt(name, "free", user);
      const bool is_possible = end == "succeeded";
      possible += is_possible ? 1 : 0;
      if (!is_possible)
        std::printf("not possible here without confinement, user %u: %s: %s\n", user, name.c_str(), end.c_str());
      const bool must_be = std::ranges::find(kPossibleAnywhere, name) != std::end(kPossibleAnywhere);
      EXPECT_TRUE(is_possible || !must_be) << name << " as user " << user << ": " << end;
    }
    RecordProperty("possible_as_user_" + std::to_string(user), static_cast<int>(possible));
  }
}

TEST(WorkerSandbox, ADecoderWorksInIt) {
  for (const uid_t user : users()) {
    for (const std::string& name : attempts("work")) {
      for (const char* how : {"free", "confined"}) {
        EXPECT_EQ(attempt(name, how, user), "succeeded") << name << " " << how << " as user " << user;
      }
    }
  }
}

// What a worker says and how it ends, under a filter that gives some calls an error, as containers and old kernels do.
struct Ended {
  int status = -1;
  std::string words;
};

Ended run_without(const std::vector<CallRule>& missing, std::vector<std::string> words) {
  const TempDirectory scratch;
  const std::string said = scratch / "said";
  words.insert(words.begin(), beside_this_test("fathom-worker"));
  const pid_t pid = ::fork();
  if (pid == 0) {
    const int file = ::open(said.c_str(), O_WRONLY | O_CREAT, 0600);
    ::dup2(file, STDOUT_FILENO);
    ::dup2(file, STDERR_FILENO);
    const CallPolicy policy{
        .rules = missing, .other_calls = SECCOMP_RET_ALLOW, .foreign_abi = SECCOMP_RET_KILL_PROCESS};
    if (!give_up_new_privileges() || !install_filter(policy)) ::_exit(99);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(98);
  }
  Ended ended;
  ::waitpid(pid, &ended.status, 0);
  std::ifstream file(said);
  ended.words.assign(std::istreambuf_iterator<char>(file), {});
  return ended;
}

CallRule fails(uint32_t call, uint32_t error) {
  return {call, SECCOMP_RET_ERRNO | error};
}

struct MissingPart {
  CallRule rule;
  const char* named;
};

const MissingPart kMissingParts[] = {
    {fails(SYS_landlock_create_ruleset, ENOSYS), "Landlock: landlock_create_ruleset: Function not implemented"},
    {fails(SYS_landlock_create_ruleset, EOPNOTSUPP), "Landlock: landlock_create_ruleset: Operation not supported"},
    {fails(SYS_landlock_add_rule, EPERM), "Landlock: landlock_add_rule"},
    {fails(SYS_landlock_restrict_self, EPERM), "Landlock: landlock_restrict_self"},
    {fails(SYS_seccomp, EINVAL), "seccomp: Invalid argument"},
    {fails(SYS_close_range, ENOSYS), "close_range"},
};

TEST(WorkerSandbox, WithoutAPartNothingIsRead) {
  const Scene scene(::geteuid());
  for (const MissingPart& part : kMissingParts) {
    const Ended ended = run_without({part.rule}, {"--directory", scene.snapshots(), "list"});
    ASSERT_TRUE(WIFEXITED(ended.status)) << part.named;
    EXPECT_EQ(WEXITSTATUS(ended.status), 5) << part.named;
    EXPECT_NE(ended.words.find(part.named), std::string::npos) << ended.words;
    EXPECT_NE(ended.words.find("--unsafe-worker"), std::string::npos) << ended.words;
    EXPECT_EQ(ended.words.find(std::string(kOwn).substr(0, 8)), std::string::npos) << "it lists: " << ended.words;
  }
}

TEST(WorkerSandbox, UnsafeWorkerWarnsAndWorks) {
  const Scene scene(::geteuid());
  for (const MissingPart& part : kMissingParts) {
    const Ended ended = run_without({part.rule}, {"--unsafe-worker", "--directory", scene.snapshots(), "list"});
    EXPECT_EQ(ended.status, 0) << ended.words;
    EXPECT_NE(ended.words.find("warning: --unsafe-worker"), std::string::npos) << ended.words;
    EXPECT_NE(ended.words.find(part.named), std::string::npos) << ended.words;
    EXPECT_NE(ended.words.find(std::string(kOwn).substr(0, 8)), std::string::npos) << ended.words;
  }
}

TEST(WorkerSandbox, NamespacesAreNotRequired) {
  const Scene scene(::geteuid());
  const Ended ended = run_without({fails(SYS_unshare, EPERM)}, {"--directory", scene.snapshots(), "list"});
  EXPECT_EQ(ended.status, 0) << ended.words;
  EXPECT_EQ(ended.words.find("warning"), std::string::npos) << ended.words;
}

TEST(WorkerSandbox, AConfinedWorkerWarnsOfNothing) {
  const Scene scene(::geteuid());
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--unsafe-worker"}}) {
    std::vector<std::string> words{"--directory", scene.snapshots(), "list"};
    words.insert(words.begin(), more.begin(), more.end());
    const Ended ended = run_without({}, words);
    EXPECT_EQ(ended.status, 0) << ended.words;
    EXPECT_EQ(ended.words.find("warning"), std::string::npos) << ended.words;
  }
}

// Bits of a child's exit status.
enum Opened : int { kCode = 1, kText = 2, kCore = 4, kMissing = 8, kDirectly = 16, kSource = 32 };

std::string elf_header(char type) {
  std::string bytes(64, '\0');
  bytes.replace(0, 4,
                "\x7f"
                "ELF");
  bytes[16] = type;
  return bytes;
}

int open_through_opener(const std::string& directory, const FileOpenerOptions& options) {
  auto opener = FileOpener::start(options);
  if (!opener || !confine({.paths = {}, .has_opener = true}).empty()) return 64;
  const auto opened = [&](const std::string& name, int bit) {
    return (*opener)->open(directory + "/" + name).open() ? bit : 0;
  };
  return opened("program", kCode) + opened("text", kText) + opened("core", kCore) + opened("missing", kMissing) +
         opened("source.cc", kSource) + opened("directory.cc", kText) +
         (Fd(::open((directory + "/program").c_str(), O_RDONLY)).open() ? kDirectly : 0);
}

// The exit status of a confined child that opens each kind of file.
int opened_by_child(const FileOpenerOptions& options) {
  const TempDirectory scratch;
  write_file(scratch / "program", elf_header(3));
  write_file(scratch / "core", elf_header(4));
  write_file(scratch / "text", std::string(100, 'x'));
  write_file(scratch / "source.cc", "int main() {}");
  fs::create_directory(scratch / "directory.cc");
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(open_through_opener(scratch.path(), options));
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << cli::describe_exit(status);
  return WEXITSTATUS(status);
}

TEST(FileOpener, OpensWhatItMayAndNothingElse) {
  EXPECT_EQ(opened_by_child({}), 0);
  EXPECT_EQ(opened_by_child({.opens_code = true}), kCode);
  EXPECT_EQ(opened_by_child({.opens_sources = true}), kSource);
  EXPECT_EQ(opened_by_child({.opens_code = true, .opens_sources = true}), kCode | kSource);
}

}  // namespace
}  // namespace fathom
