// The small tools of the benchmarks: options, latencies, children, disk use.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "bench/child_process.h"
#include "bench/latencies.h"
#include "bench/machine.h"
#include "bench/options.h"
#include "bench/server.h"

namespace fathom::bench {
namespace {

Result<> parse(Options& options, std::vector<std::string> words) {
  words.insert(words.begin(), "program");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  return options.parse(static_cast<int>(pointers.size()), pointers.data());
}

Options make_options() {
  return {"bench-x", {{"--spans", "10", "how many"}, {"--steps", "all", "which"}}};
}

TEST(Options, KeepsDefaultsAndTakesValues) {
  Options options = make_options();
  ASSERT_TRUE(parse(options, {"--spans", "1e3"}).ok());
  EXPECT_EQ(options.number("--spans"), 1000u);
  EXPECT_TRUE(options.selects("--steps", "ack"));
  EXPECT_EQ(options.command(), "bench-x --spans 1e3");
}

TEST(Options, SelectsWholeNames) {
  Options options = make_options();
  ASSERT_TRUE(parse(options, {"--steps", "floor,ack"}).ok());
  EXPECT_TRUE(options.selects("--steps", "ack"));
  EXPECT_FALSE(options.selects("--steps", "ac"));
  EXPECT_FALSE(options.selects("--steps", "shop"));
}

TEST(Options, RefusesWhatItDoesNotKnow) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--span", "3"}, {"--spans"}, {"--spans", "many"}, {"--spans", "-3"}, {"--help"}}) {
    Options options = make_options();
    EXPECT_FALSE(parse(options, words).ok());
  }
}

std::optional<int> exit_of(Options options, std::vector<std::string> words) {
  words.insert(words.begin(), "program");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  return options.parse_or_exit(static_cast<int>(pointers.size()), pointers.data());
}

TEST(Options, EndsWithTheHelpThatWasAskedForAndWithWhatIsWrong) {
  EXPECT_FALSE(exit_of(make_options(), {"--spans", "3"}).has_value());
  testing::internal::CaptureStdout();
  EXPECT_EQ(exit_of(make_options(), {"--help"}), 0);
  EXPECT_NE(testing::internal::GetCapturedStdout().find("--steps"), std::string::npos);
  testing::internal::CaptureStderr();
  EXPECT_EQ(exit_of(make_options(), {"--span", "3"}), 2);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("cannot use '--span'"), std::string::npos);
}

TEST(Latencies, QuantilesAreNearestRank) {
  Latencies latencies;
  EXPECT_EQ(latencies.p99_ms(), 0);
  for (uint64_t i = 100; i >= 1; --i) latencies.record(i * 1'000'000);
  EXPECT_EQ(latencies.p50_ms(), 50);
  EXPECT_EQ(latencies.p99_ms(), 99);
  EXPECT_EQ(latencies.max_ms(), 100);
}

std::string log_path() {
  return testing::TempDir() + "/child_process_test.log";
}

TEST(ChildProcess, IsReadyWhenItSaysSoAndIsMeasured) {
  ChildProcess child;
  auto line = child.start({{"/bin/sh", "-c", "echo ready >&3; exec 3>&-; while :; do :; done"}, {}, log_path()});
  ASSERT_TRUE(line.ok()) << line.error().message;
  EXPECT_EQ(*line, "ready");
  EXPECT_TRUE(child.running());
  EXPECT_FALSE(child.wait_until_idle(0.01, 1));
  EXPECT_GT(child.cpu_seconds(), 0.1);
  EXPECT_GT(child.rss_max_mib(), 0.1);
  auto usage = child.stop();
  ASSERT_TRUE(usage.ok());
  EXPECT_GT(usage->cpu_seconds, 0.1);
  EXPECT_GT(usage->rss_max_mib, 0.1);
  EXPECT_EQ(usage->exit_status, 128 + 15);
  EXPECT_FALSE(child.running());
}

TEST(ChildProcess, SaysWhenItEndedBeforeItWasReady) {
  ChildProcess child;
  auto line = child.start({{"/bin/sh", "-c", "exit 3"}, {}, log_path()});
  ASSERT_FALSE(line.ok());
  EXPECT_NE(line.error().message.find(log_path()), std::string::npos);
}

TEST(ChildProcess, SaysWhenThereIsNoSuchProgram) {
  ChildProcess child;
  EXPECT_FALSE(child.start({{"/no/such/program"}, {}, log_path()}).ok());
}

TEST(ChildProcess, GetsItsEnvironmentAndExitStatus) {
  ChildProcess child;
  auto line = child.start({{"/bin/sh", "-c", "trap 'exit 7' TERM; echo $WORD >&3; exec 3>&-; while :; do :; done"},
                           {{"WORD", "x1"}},
                           log_path()});
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(*line, "x1");
  EXPECT_EQ(child.stop()->exit_status, 7);
}

TEST(ChildProcess, EndsWithTheProgramThatStartedIt) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t benchmark = ::fork();
  if (benchmark == 0) {
    ChildProcess child;
    // It holds the pipe's end, which closes with it.
    (void)child.start({{"/bin/sh", "-c", "echo ready >&3; exec sleep 600"}, {}, "/dev/null"});
    ::_exit(0);  // as one that is killed: nobody tidies up
  }
  ::close(ends[1]);
  ::waitpid(benchmark, nullptr, 0);
  pollfd closed{ends[0], POLLIN, 0};
  EXPECT_EQ(::poll(&closed, 1, 20'000), 1) << "it still runs";
  ::close(ends[0]);
}

TEST(DiskUse, CountsLogsAndPreallocationApart) {
  std::string directory = make_run_directory(testing::TempDir()).value();
  std::filesystem::create_directory(directory + "/below");
  std::ofstream(directory + "/below/a.sst") << std::string(100'000, 'a');
  std::ofstream(directory + "/000012.log") << std::string(9'000, 'b');
  DiskUse use = disk_use(directory);
  EXPECT_GE(use.bytes, 109'000u);
  EXPECT_LE(use.bytes, 120'000u);
  EXPECT_EQ(use.preallocated_bytes, 0u);
  EXPECT_GE(use.wal_bytes, 9'000u);
  EXPECT_LE(use.wal_bytes, 20'000u);
  int fd = ::open((directory + "/000013.log").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  ASSERT_EQ(::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 1 << 20), 0);
  ::close(fd);
  EXPECT_EQ(disk_use(directory).bytes, use.bytes);
  EXPECT_EQ(disk_use(directory).preallocated_bytes, 1u << 20);
  std::filesystem::remove_all(directory);
}

TEST(Machine, KnowsItselfAndItsDisk) {
  Machine machine = describe_machine("/");
  EXPECT_GT(machine.cores, 0u);
  EXPECT_GT(machine.memory_mib, 100u);
  EXPECT_FALSE(machine.kernel.empty());
  EXPECT_EQ(measure_fdatasync(testing::TempDir(), 5, 1000).count(), 5u);
}

TEST(Addresses, AreTakenFromTheReadyLine) {
  EXPECT_EQ(address_in("{\"http\":\"127.0.0.1:80\"}", "http").value(), "127.0.0.1:80");
  EXPECT_FALSE(address_in("{\"http\":3}", "http").ok());
  EXPECT_FALSE(address_in("not JSON", "http").ok());
}

}  // namespace
}  // namespace fathom::bench
