#include "cli/supervisor.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

#include "base/time.h"
#include "cli/program.h"
#include "cli/testing/scratch.h"

namespace fathom::cli {
namespace {

std::string read_file_to_end(int descriptor) {
  std::string text;
  for (std::string line = read_line(descriptor); !line.empty(); line = read_line(descriptor)) text += line + "\n";
  return text;
}

// A server and an agent of a few lines of shell. Each notes its arguments, takes the ports it is given (or 7001 and up
// for port 0), and after its ready line says its process id on standard error.
constexpr const char* kPrograms = R"(
dir=$(dirname "$0"); name=$(basename "$0")
if [ "$1" = --print-sources ]; then
  if [ -e "$dir/sources" ]; then cat "$dir/sources"; echo "$name --print-sources" >> "$dir/starts"; else echo '[]'; fi
  exit 0
fi
echo "$name $@" >> "$dir/starts"
while [ $# -gt 0 ]; do
  case $1 in
    --http) http=$2 ;; --otlp-grpc) grpc=$2 ;; --otlp-http) otlp=$2 ;; --ingest) ingest=$2 ;;
    --query-grpc) query=$2 ;;
    --agent-socket) socket=$2 ;; --ready-fd) fd=$2 ;;
  esac
  shift
done
[ "$http" = 127.0.0.1:0 ] && http=127.0.0.1:7001
[ "$grpc" = 127.0.0.1:0 ] && grpc=127.0.0.1:7002
[ "$otlp" = 127.0.0.1:0 ] && otlp=127.0.0.1:7003
[ "$ingest" = 127.0.0.1:0 ] && ingest=127.0.0.1:7004
[ "$query" = 127.0.0.1:0 ] && query=127.0.0.1:7005
[ -n "$query" ] && query=",\"query_grpc\":\"$query\""
trap 'echo "$name stopped" >> "$dir/starts"; exit 0' TERM
if [ -e "$dir/refuse-$name" ]; then
  status=$(cat "$dir/refuse-$name"); echo "cannot bind" >&2; exit ${status:-5}
fi
line="{\"agent_socket\":\"$socket\"}"
[ "$name" = fathom-server ] &&
  line="{\"http\":\"$http\",\"otlp_grpc\":\"$grpc\",\"otlp_http\":\"$otlp\"$query,\"ingest\":\"$ingest\"}"
eval "echo '$line' >&$fd; exec $fd>&-"
echo "$name pid $$" >&2
while :; do sleep 1 & wait $!; done
)";

constexpr const char* kAllZero[] = {"--http",      "127.0.0.1:0", "--otlp-grpc",
                                    "127.0.0.1:0", "--otlp-http", "127.0.0.1:0"};

class UpTest : public ::testing::Test {
 protected:
  void SetUp() override {
    scratch_.script("fathom-server", kPrograms);
    scratch_.script("fathom-agent", kPrograms);
  }

  // `fathom up` with the scripts for a server and an agent.
  Forked up(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"up", "--data", scratch_.path() + "/data", "--agent-socket", socket()};
    words.insert(words.end(), std::begin(kAllZero), std::end(kAllZero));
    words.insert(words.end(), more.begin(), more.end());
    return Forked([&] {
      Context context = process_context();
      context.executable = scratch_.path() + "/fathom";
      return static_cast<int>(run_program(words, context));
    });
  }

  // The process id that this program says next, after whatever else is logged before.
  static int next_pid(const Forked& up, const std::string& program) {
    std::string begin = program + " pid ";
    std::string line;
    do {
      line = read_line(up.err());
    } while (!line.empty() && !line.starts_with(begin));
    return line.empty() ? 0 : std::atoi(line.c_str() + begin.size());
  }
  static int server_pid(const Forked& up) { return next_pid(up, "fathom-server"); }
  static int agent_pid(const Forked& up) { return next_pid(up, "fathom-agent"); }

  static void stop(Forked& process) {
    ::kill(process.pid(), SIGTERM);
    EXPECT_EQ(process.exit_code(), 0);
  }

  std::string socket() const { return scratch_.path() + "/agent.sock"; }
  std::string starts() const { return read_file(scratch_.path() + "/starts"); }
  std::string line_of_json() const {
    return R"({"http":"127.0.0.1:7001","otlp_grpc":"127.0.0.1:7002","otlp_http":"127.0.0.1:7003",)"
           R"("ingest":"127.0.0.1:7004","agent_socket":")" +
           socket() + "\"}";
  }

  Scratch scratch_;
};

TEST_F(UpTest, OneLineOfJsonThenRunsUntilToldToStop) {
  Forked process = up();
  EXPECT_EQ(read_line(process.out()), line_of_json());
  ASSERT_GT(agent_pid(process), 0);
  stop(process);
  EXPECT_TRUE(starts().ends_with("fathom-agent stopped\nfathom-server stopped\n"))
      << "both were asked, the agent first, so that it can hand over what it holds\n"
      << starts();
  EXPECT_EQ(read_line(process.out()), "") << "and nothing more on standard output";
}

TEST_F(UpTest, SaysWhatCapturesLackWhichItAsksBeforeItSupervises) {
  scratch_.write("sources", R"([{"name":"system calls","available":false,"why_not":"not allowed","cure":"be root"}])");
  Forked process = up();
  read_line(process.out());
  std::string line;
  do {
    line = read_line(process.err());
  } while (!line.empty() && !line.starts_with("captures "));
  EXPECT_EQ(line, "captures will have no system calls: not allowed; be root");
  EXPECT_TRUE(starts().starts_with("fathom-agent --print-sources\nfathom-server --http")) << starts();
  stop(process);
}

TEST_F(UpTest, InterruptAndHangUpEndItToo) {
  for (int number : {SIGINT, SIGHUP}) {
    Forked process = up();
    read_line(process.out());
    ASSERT_GT(agent_pid(process), 0);
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
  stop(process);
  std::string log = starts();
  std::string first = log.substr(0, log.find('\n') + 1);
  size_t again = log.find("\nfathom-server --http") + 1;
  std::string second = log.substr(again, log.find('\n', again) + 1 - again);
  EXPECT_NE(first.find("--http 127.0.0.1:0 --otlp-grpc 127.0.0.1:0 --otlp-http 127.0.0.1:0 --ingest 127.0.0.1:0"),
            std::string::npos);
  EXPECT_NE(second.find("--http 127.0.0.1:7001 --otlp-grpc 127.0.0.1:7002 --otlp-http 127.0.0.1:7003 "
                        "--ingest 127.0.0.1:7004"),
            std::string::npos);
  EXPECT_NE(log.find(second + second + second), std::string::npos) << log;
  EXPECT_EQ(log.find("fathom-agent --"), log.rfind("fathom-agent --")) << "the agent is left alone\n" << log;
}

TEST_F(UpTest, ThePortOfQueriesOverGrpcIsToldAndKept) {
  Forked process = up({"--query-grpc", "127.0.0.1:0"});
  EXPECT_NE(read_line(process.out()).find(R"("otlp_http":"127.0.0.1:7003","query_grpc":"127.0.0.1:7005","ingest":)"),
            std::string::npos);
  ::kill(server_pid(process), SIGKILL);
  ASSERT_GT(server_pid(process), 0);
  stop(process);
  std::string log = starts();
  size_t second = log.find('\n') + 1;
  EXPECT_NE(log.substr(0, second).find(" --query-grpc 127.0.0.1:0 "), std::string::npos) << log;
  EXPECT_NE(log.find(" --query-grpc 127.0.0.1:7005 ", second), std::string::npos) << log;
}

TEST_F(UpTest, AKilledAgentComesBackByItself) {
  Forked process = up();
  read_line(process.out());
  int agent = agent_pid(process);
  ASSERT_GT(agent, 0);
  ::kill(agent, SIGKILL);
  int next = agent_pid(process);
  EXPECT_GT(next, 0);
  EXPECT_NE(next, agent);
  stop(process);
  std::string log = starts();
  EXPECT_EQ(log.find("fathom-server --"), log.rfind("fathom-server --")) << "the server is left alone\n" << log;
  std::string wanted = "fathom-agent --agent-socket " + socket() + " --collector 127.0.0.1:7004 --state " +
                       scratch_.path() + "/data/agent --ready-fd 3\n";
  EXPECT_NE(log.find(wanted + wanted), std::string::npos) << log;
}

TEST_F(UpTest, FlagsAreHandedOnToWhomTheyConcern) {
  Forked process =
      up({"--durability", "os", "--retention-age=30d", "--spool-limit", "1MiB", "--agent-http", "127.0.0.1:9"});
  read_line(process.out());
  ASSERT_GT(agent_pid(process), 0);
  stop(process);
  EXPECT_NE(starts().find(" --data=" + scratch_.path() +
                          "/data --durability=os --retention-age=30d --query-token-file=" + scratch_.path() +
                          "/data/query-token --ready-fd 3\n"),
            std::string::npos)
      << starts();
  EXPECT_NE(starts().find("/data/agent --spool-limit=1MiB --http=127.0.0.1:9 --token-file=" + scratch_.path() +
                          "/data/query-token --ready-fd 3\n"),
            std::string::npos)
      << starts();
}

TEST_F(UpTest, AnAddressThatIsNoneIsRefusedBeforeAnythingStarts) {
  Forked process = up({"--agent-http", "9"});
  EXPECT_NE(read_line(process.err()).find("--agent-http: '9' is not HOST:PORT"), std::string::npos);
  EXPECT_EQ(process.exit_code(), static_cast<int>(ExitCode::kUsage));
  EXPECT_EQ(starts(), "");
}

TEST_F(UpTest, AServerThatCannotStartEndsItWithItsWords) {
  scratch_.write("refuse-fathom-server", "");
  Forked process = up();
  EXPECT_EQ(read_line(process.out()), "");
  EXPECT_NE(
      read_file_to_end(process.err()).find("cannot bind\nfathom: the server ended with status 5 before it was ready\n"),
      std::string::npos);
  EXPECT_EQ(process.exit_code(), static_cast<int>(ExitCode::kLocalFailure));
  EXPECT_EQ(starts().find("fathom-agent"), std::string::npos) << "it waits for the server";
}

TEST_F(UpTest, AServerThatCannotUseItsDataEndsItWithTheSameStatus) {
  scratch_.write("refuse-fathom-server", "7");
  Forked process = up();
  EXPECT_EQ(read_line(process.out()), "");
  EXPECT_NE(read_file_to_end(process.err()).find("the server cannot use its data directory"), std::string::npos);
  EXPECT_EQ(process.exit_code(), static_cast<int>(ExitCode::kDataUnusable));
}

TEST_F(UpTest, AServerThatCannotUseItsDataAnyMoreIsNotRestarted) {
  Forked process = up();
  read_line(process.out());
  const int server = server_pid(process);
  ASSERT_GT(server, 0);
  scratch_.write("refuse-fathom-server", "7");
  ::kill(server, SIGKILL);
  EXPECT_EQ(process.exit_code(), static_cast<int>(ExitCode::kDataUnusable));
  EXPECT_TRUE(starts().ends_with("fathom-agent stopped\n")) << "the agent ends in order\n" << starts();
}

TEST_F(UpTest, AnAgentThatCannotStartEndsItToo) {
  scratch_.write("refuse-fathom-agent", "");
  Forked process = up();
  EXPECT_EQ(read_line(process.out()), "") << "it is not ready without its agent";
  EXPECT_NE(
      read_file_to_end(process.err()).find("cannot bind\nfathom: the agent ended with status 5 before it was ready\n"),
      std::string::npos);
  EXPECT_EQ(process.exit_code(), static_cast<int>(ExitCode::kLocalFailure));
  EXPECT_TRUE(starts().ends_with("fathom-server stopped\n")) << "asked, not killed\n" << starts();
}

TEST_F(UpTest, FlagsThatTheServerRefusesAreAUsageError) {
  scratch_.script("fathom-server", "echo 'fathom-server: --cache: no' >&2; exit 2");
  Forked process = up({"--cache", "no"});
  const std::string said = read_file_to_end(process.err());
  EXPECT_NE(said.find("fathom-server: --cache: no\n"), std::string::npos) << said;
  EXPECT_EQ(said.find("does not take"), std::string::npos) << "one message is enough\n" << said;
  EXPECT_EQ(process.exit_code(), static_cast<int>(ExitCode::kUsage));
}

TEST_F(UpTest, AServerOfAnotherVersionIsNotTakenForReady) {
  scratch_.script("fathom-server",
                  "while [ $1 != --ready-fd ]; do shift; done\n"
                  "eval \"echo '{\\\"http\\\":\\\"h:1\\\",\\\"otlp_grpc\\\":\\\"g:2\\\",\\\"otlp_http\\\":"
                  "\\\"o:3\\\"}' >&$2\"; exec sleep 1000");
  Forked process = up();
  EXPECT_EQ(read_line(process.out()), "");
  EXPECT_NE(read_file_to_end(process.err()).find("is it of another version?"), std::string::npos);
  EXPECT_EQ(process.exit_code(), static_cast<int>(ExitCode::kLocalFailure));
}

TEST_F(UpTest, WhatOnceWorkedIsTriedAgain) {
  Forked process = up();
  read_line(process.out());
  int server = server_pid(process);
  int agent = agent_pid(process);
  for (auto [name, pid] : {std::pair("fathom-server", server), std::pair("fathom-agent", agent)}) {
    ASSERT_GT(pid, 0);
    std::string refuse = scratch_.write(std::string("refuse-") + name, "");
    ::kill(pid, SIGKILL);
    // Twice, so that one that dies again and again is not taken for one that was never ready.
    for (int refused = 0; refused < 2;) {
      std::string line = read_line(process.err());
      ASSERT_FALSE(line.empty());
      if (line == "cannot bind") ++refused;
    }
    ::unlink(refuse.c_str());
    EXPECT_GT(next_pid(process, name), 0);
  }
  stop(process);
}

TEST_F(UpTest, BothDieWithTheirParent) {
  Forked process = up();
  read_line(process.out());
  ASSERT_GT(agent_pid(process), 0);
  ::kill(process.pid(), SIGKILL);
  EXPECT_EQ(process.exit_code(), -SIGKILL);
  // They hold the write end of this pipe; when the end of the stream comes, they are gone.
  while (!read_line(process.err()).empty()) {
  }
  EXPECT_EQ(starts().find("stopped"), std::string::npos);
}

TEST_F(UpTest, WhatAServiceManagerToldUsIsNotForTheServer) {
  scratch_.script("fathom-server", "env >> $(dirname $0)/environment; exit 5");
  Forked process([&] {
    ::setenv("NOTIFY_SOCKET", "/run/other", 1);
    ::setenv("LISTEN_FDS", "1", 1);
    Context context = process_context();
    context.executable = scratch_.path() + "/fathom";
    return static_cast<int>(
        run_program({"up", "--data", scratch_.path() + "/data", "--agent-socket", socket()}, context));
  });
  EXPECT_EQ(process.exit_code(), static_cast<int>(ExitCode::kLocalFailure));
  std::string environment = read_file(scratch_.path() + "/environment");
  EXPECT_NE(environment.find("PATH="), std::string::npos);
  EXPECT_EQ(environment.find("NOTIFY_SOCKET"), std::string::npos);
  EXPECT_EQ(environment.find("LISTEN_FDS"), std::string::npos);
}

// An agent in Python, because a shell cannot send descriptors: it says what it was given, stores two files or drops
// one.
constexpr const char* kStoringAgent = R"(
import os, socket, sys, time
given = int(os.environ.get("LISTEN_FDS", "0"))
names = os.environ.get("LISTEN_FDNAMES", "").split(":")
said = [f"{names[i]}={os.pread(3 + i, 100, 0).decode()}" for i in range(given)]
if given and int(os.environ["LISTEN_PID"]) != os.getpid(): said.append("wrong pid")
address = os.environ["NOTIFY_SOCKET"]
notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
notify.connect("\0" + address[1:] if address[0] == "@" else address)
if not given:
    for name in ("one", "two"):
        fd = os.memfd_create(name)
        os.write(fd, b"of " + name.encode())
        socket.send_fds(notify, [f"FDSTORE=1\nFDNAME={name}".encode()], [fd])
elif given == 2:
    notify.send(b"FDSTOREREMOVE=1\nFDNAME=one")
ready = int(sys.argv[sys.argv.index("--ready-fd") + 1])
os.write(ready, b'{"agent_socket":"/a"}\n')
os.close(ready)
# One write each: the supervisor's log goes to the same pipe.
os.write(2, f"fathom-agent given {' '.join(said)}\n".encode())
os.write(2, f"fathom-agent pid {os.getpid()}\n".encode())
time.sleep(1000)
)";

TEST_F(UpTest, TheAgentFindsItsDescriptorsAgain) {
  std::string program = scratch_.write("agent.py", kStoringAgent);
  scratch_.script("fathom-agent", "exec python3 " + program + " \"$@\"");
  Forked process = up();
  std::vector<std::string> given;
  while (given.size() < 3) {
    std::string line = read_line(process.err());
    ASSERT_FALSE(line.empty());
    if (line.starts_with("fathom-agent given")) given.push_back(line);
    if (line.starts_with("fathom-agent pid") && given.size() < 3) ::kill(std::atoi(line.c_str() + 17), SIGKILL);
  }
  EXPECT_EQ(given[0], "fathom-agent given ");
  EXPECT_EQ(given[1], "fathom-agent given one=of one two=of two");
  EXPECT_EQ(given[2], "fathom-agent given two=of two");
  ::kill(process.pid(), SIGKILL);
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

}  // namespace
}  // namespace fathom::cli
