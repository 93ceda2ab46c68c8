#include "cli/supervisor.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

#include "base/time.h"
#include "cli/child.h"
#include "cli/program.h"
#include "cli/testing/scratch.h"

namespace fathom::cli {
namespace {

// A server of a few lines of shell. It notes its arguments, takes the ports it is given (or 7001 and up for port 0),
// and after its first line, on standard error, its process id.
constexpr const char* kServer = R"(
dir=$(dirname "$0")
echo "$@" >> "$dir/starts"
http=$2; grpc=$4; otlp=$6; fd=$8
[ "$http" = 127.0.0.1:0 ] && http=127.0.0.1:7001
[ "$grpc" = 127.0.0.1:0 ] && grpc=127.0.0.1:7002
[ "$otlp" = 127.0.0.1:0 ] && otlp=127.0.0.1:7003
query=
if [ "$9" = --query-grpc ]; then
  query=${10}
  [ "$query" = 127.0.0.1:0 ] && query=127.0.0.1:7004
  query=",\"query_grpc\":\"$query\""
fi
trap 'echo stopped >> "$dir/starts"; exit 0' TERM
if [ -e "$dir/refuse" ]; then echo "cannot bind" >&2; exit 5; fi
eval "echo '{\"http\":\"$http\",\"otlp_grpc\":\"$grpc\",\"otlp_http\":\"$otlp\"$query}' >&$fd; exec $fd>&-"
echo "pid $$" >&2
while :; do sleep 1 & wait $!; done
)";

class UpTest : public ::testing::Test {
 protected:
  void SetUp() override { scratch_.script("fathom-server", kServer); }

  // `fathom up` with the script for a server.
  Forked up(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"up",          "--data",      scratch_.path() + "/data",
                                   "--http",      "127.0.0.1:0", "--otlp-grpc",
                                   "127.0.0.1:0", "--otlp-http", "127.0.0.1:0"};
    words.insert(words.end(), more.begin(), more.end());
    return Forked([&] {
      Context context = process_context();
      context.executable = scratch_.path() + "/fathom";
      return static_cast<int>(run_program(words, context));
    });
  }

  // The next server's process id, after whatever the supervisor logs before.
  static int server_pid(const Forked& up) {
    std::string line;
    do {
      line = read_line(up.err());
    } while (!line.empty() && !line.starts_with("pid "));
    return line.empty() ? 0 : std::atoi(line.c_str() + 4);
  }

  std::string starts() const { return read_file(scratch_.path() + "/starts"); }

  Scratch scratch_;
};

TEST_F(UpTest, OneLineOfJsonThenRunsUntilToldToStop) {
  Forked process = up();
  EXPECT_EQ(read_line(process.out()),
            R"({"http":"127.0.0.1:7001","otlp_grpc":"127.0.0.1:7002","otlp_http":"127.0.0.1:7003"})");
  ASSERT_GT(server_pid(process), 0);
  ::kill(process.pid(), SIGTERM);
  EXPECT_EQ(process.exit_code(), 0);
  EXPECT_NE(starts().find("stopped\n"), std::string::npos) << "the server was asked, not killed";
  EXPECT_EQ(read_line(process.out()), "") << "and nothing more on standard output";
}

TEST_F(UpTest, InterruptAndHangUpEndItToo) {
  for (int number : {SIGINT, SIGHUP}) {
    Forked process = up();
    read_line(process.out());
    ASSERT_GT(server_pid(process), 0);
    ::kill(process.pid(), number);
    EXPECT_EQ(process.exit_code(), 0) << number;
  }
}

TEST_F(UpTest, AKilledServerComesBackOnTheSamePorts) {
  Forked process = up();
  read_line(process.out());
  for (int round = 0; round < 3; ++round) {
    int server = server_pid(process);
    ASSERT_GT(server, 0);
    ::kill(server, SIGKILL);
  }
  ASSERT_GT(server_pid(process), 0);
  ::kill(process.pid(), SIGTERM);
  EXPECT_EQ(process.exit_code(), 0);
  std::string log = starts();
  std::string first = log.substr(0, log.find('\n') + 1);
  std::string second = log.substr(first.size(), log.find('\n', first.size()) + 1 - first.size());
  EXPECT_NE(first.find("--http 127.0.0.1:0 --otlp-grpc 127.0.0.1:0 --otlp-http 127.0.0.1:0"), std::string::npos);
  EXPECT_NE(second.find("--http 127.0.0.1:7001 --otlp-grpc 127.0.0.1:7002 --otlp-http 127.0.0.1:7003"),
            std::string::npos);
  EXPECT_EQ(log, first + second + second + second + "stopped\n");
}

TEST_F(UpTest, ThePortOfQueriesOverGrpcIsToldAndKept) {
  Forked process = up({"--query-grpc", "127.0.0.1:0"});
  EXPECT_EQ(read_line(process.out()), R"({"http":"127.0.0.1:7001","otlp_grpc":"127.0.0.1:7002",)"
                                      R"("otlp_http":"127.0.0.1:7003","query_grpc":"127.0.0.1:7004"})");
  ::kill(server_pid(process), SIGKILL);
  ASSERT_GT(server_pid(process), 0);
  ::kill(process.pid(), SIGTERM);
  EXPECT_EQ(process.exit_code(), 0);
  std::string log = starts();
  size_t second = log.find('\n') + 1;
  EXPECT_NE(log.substr(0, second).find(" --query-grpc 127.0.0.1:0 --data="), std::string::npos) << log;
  EXPECT_NE(log.find(" --query-grpc 127.0.0.1:7004 --data=", second), std::string::npos) << log;
}

TEST_F(UpTest, FlagsOfTheServerAreHandedOn) {
  Forked process = up({"--durability", "os", "--retention-age=30d"});
  read_line(process.out());
  ASSERT_GT(server_pid(process), 0);
  ::kill(process.pid(), SIGTERM);
  EXPECT_EQ(process.exit_code(), 0);
  EXPECT_NE(starts().find("--durability=os --retention-age=30d --data=" + scratch_.path() + "/data\n"),
            std::string::npos);
}

TEST_F(UpTest, AServerThatCannotStartEndsItWithItsWords) {
  scratch_.write("refuse", "");
  Forked process = up();
  EXPECT_EQ(read_line(process.out()), "");
  EXPECT_EQ(read_line(process.err()), "cannot bind");
  EXPECT_EQ(read_line(process.err()), "fathom: the server ended with status 5 before it was ready");
  EXPECT_EQ(process.exit_code(), static_cast<int>(ExitCode::kLocalFailure));
}

TEST_F(UpTest, FlagsThatTheServerRefusesAreAUsageError) {
  scratch_.script("fathom-server", "echo 'fathom-server: --cache: no' >&2; exit 2");
  Forked process = up({"--cache", "no"});
  EXPECT_EQ(read_line(process.err()), "fathom-server: --cache: no");
  EXPECT_EQ(read_line(process.err()), "") << "one message is enough";
  EXPECT_EQ(process.exit_code(), static_cast<int>(ExitCode::kUsage));
}

TEST_F(UpTest, AServerThatOnceWorkedIsTriedAgain) {
  Forked process = up();
  read_line(process.out());
  int server = server_pid(process);
  std::string refuse = scratch_.write("refuse", "");
  ::kill(server, SIGKILL);
  std::string line = read_line(process.err());
  while (line != "cannot bind" && !line.empty()) line = read_line(process.err());
  ASSERT_EQ(line, "cannot bind");
  ::unlink(refuse.c_str());
  EXPECT_GT(server_pid(process), 0);
  ::kill(process.pid(), SIGTERM);
  EXPECT_EQ(process.exit_code(), 0);
}

TEST_F(UpTest, TheServerDiesWithItsParent) {
  Forked process = up();
  read_line(process.out());
  int server = server_pid(process);
  ASSERT_GT(server, 0);
  ::kill(process.pid(), SIGKILL);
  EXPECT_EQ(process.exit_code(), -SIGKILL);
  // It holds the write end of this pipe; when the end of the stream comes, it is gone.
  while (!read_line(process.err()).empty()) {
  }
  EXPECT_EQ(starts().find("stopped"), std::string::npos);
}

TEST(UpWithoutServer, SaysWhatIsMissing) {
  Scratch scratch;
  Forked process([&] {
    Context context = process_context();
    context.executable = scratch.path() + "/fathom";
    return static_cast<int>(run_program({"up", "--data", scratch.path()}, context));
  });
  EXPECT_NE(read_line(process.err()).find("fathom-server is missing"), std::string::npos);
  EXPECT_EQ(process.exit_code(), static_cast<int>(ExitCode::kLocalFailure));
}

TEST(ChildProcess, SaysWhyAProgramCannotStart) {
  Result<Child> none = Child::start({{"/nowhere/at-all"}, "", {}});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message, "cannot start /nowhere/at-all: No such file or directory");
  Result<Child> nowhere = Child::start({{"true"}, "/nowhere", {}});
  ASSERT_FALSE(nowhere.ok());
  EXPECT_NE(nowhere.error().message.find("in /nowhere"), std::string::npos);
}

TEST(ChildProcess, IsWaitedForAndDescribed) {
  Result<Child> three = Child::start({{"sh", "-c", "exit 3"}, "", {}});
  ASSERT_TRUE(three.ok());
  auto status = three->wait(60 * kNanosPerSecond);
  ASSERT_TRUE(status);
  EXPECT_EQ(describe_exit(*status), "ended with status 3");
  EXPECT_FALSE(three->running());
  Result<Child> killed = Child::start({{"sh", "-c", "kill -9 $$"}, "", {}});
  ASSERT_TRUE(killed.ok());
  status = killed->wait(60 * kNanosPerSecond);
  ASSERT_TRUE(status);
  EXPECT_EQ(describe_exit(*status), "was killed by signal 9 (Killed)");
}

TEST(ChildProcess, WhatItLeftBehindGoesWithIt) {
  Pipe held = *make_pipe();
  Result<Child> parent = Child::start({{"sh", "-c", "sleep 1000 & exit 0"}, "", {{9, held.write.get()}}});
  ASSERT_TRUE(parent.ok());
  held.write.close();
  ASSERT_TRUE(parent->wait(60 * kNanosPerSecond));
  EXPECT_EQ(read_line(held.read.get()), "") << "the sleeper held the other end for a thousand seconds";
}

TEST(ChildProcess, WaitingEndsInTime) {
  Result<Child> long_one = Child::start({{"sleep", "1000"}, "", {}});
  ASSERT_TRUE(long_one.ok());
  EXPECT_FALSE(long_one->wait(20'000'000));
  EXPECT_TRUE(long_one->running());
}

TEST(ChildProcess, OutputIsCaptured) {
  EXPECT_EQ(*run_and_capture({"printf", "v1"}, 60 * kNanosPerSecond), "v1");
  EXPECT_FALSE(run_and_capture({"false"}, 60 * kNanosPerSecond).ok());
  EXPECT_EQ(run_and_capture({"sleep", "1000"}, 20'000'000).error().code, ErrorCode::kDeadline);
}

TEST(AddressLine, BackAndForth) {
  Addresses addresses{"127.0.0.1:1", "[::1]:2", "h:3", ""};
  EXPECT_EQ(addresses_line(addresses), R"({"http":"127.0.0.1:1","otlp_grpc":"[::1]:2","otlp_http":"h:3"})"
                                       "\n");
  EXPECT_EQ(*parse_addresses(addresses_line(addresses)), addresses);
  addresses.query_grpc = "h:4";
  EXPECT_EQ(*parse_addresses(addresses_line(addresses)), addresses);
  for (const char* text : {R"({"http":"a","otlp_grpc":"b","otlp_http":"c","query_grpc":7})", "", "ready", "[]", "{}",
                           R"({"http":"a","otlp_grpc":"b"})", R"({"http":1,"otlp_grpc":"","otlp_http":""})"}) {
    EXPECT_FALSE(parse_addresses(text).ok()) << text;
  }
}

}  // namespace
}  // namespace fathom::cli
