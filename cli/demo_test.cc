#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>

#include "cli/places.h"
#include "cli/program.h"
#include "cli/testing/fake_context.h"
#include "cli/testing/scratch.h"

namespace fathom::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRows =
    R"({"rows":[{"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","span_id":"00f067aa0ba902b7","service":"gateway",)"
    R"("operation":"GET /x","start_time_unix_nano":"1795226400000000001","duration_nano":5,"root_duration_nano":5,)"
    R"("complete":true,"error":false,"spans":1}],"next_cursor":""})";
constexpr const char* kTraceAnswer =
    R"({"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","complete":true,"spans":[{"span_id":"00f067aa0ba902b7",)"
    R"("service":"gateway","operation":"GET /x","start_time_unix_nano":"1795226400000000001","duration_nano":5}]})";

constexpr const char* kAddresses =
    R"({"http":"h:1","otlp_grpc":"g:2","otlp_http":"o:3","ingest":"i:4","agent_socket":"/a"})";

// The demo on a stage of shell scripts: "fathom up", the shop, node and npm note what they are asked to do.
class DemoTest : public ::testing::Test {
 protected:
  void SetUp() override {
    program("fathom", std::string("trap 'note server-stopped; exit 0' TERM\n") + "mkdir -p \"$3\"; echo '" +
                          std::string(kAddresses) +
                          "'\n"
                          "while :; do sleep 1 & wait $!; done");
    program("shop", "note socket $FATHOM_AGENT_SOCKET");
    program("node", "exit 0");
    program("npm", "mkdir node_modules");
    scratch_.write("examples/otel-shop/README.md", "");
    scratch_.write("examples/otel-shop/services/one.cjs", "1");
    world_.executable = scratch_.path() + "/bin/fathom";
    world_.environment = {{"FATHOM_EXAMPLES", scratch_.path() + "/examples"}, {"TMPDIR", scratch_.path() + "/tmp"}};
    fs::create_directory(scratch_.path() + "/tmp");
    old_path_ = std::getenv("PATH");
    ::setenv("PATH", (scratch_.path() + "/bin:" + old_path_).c_str(), 1);
    world_.answer(200, kRows);
    world_.answer(200, kTraceAnswer);
  }
  void TearDown() override { ::setenv("PATH", old_path_.c_str(), 1); }

  // A script that first notes its name, directory and arguments.
  void program(const std::string& name, const std::string& body) {
    std::string log = scratch_.path() + "/log";
    scratch_.script("bin/" + name,
                    "note() { echo \"$@\" >> " + log + "; }\nnote " + name + " \"$@\" in \"$PWD\"\n" + body + "\n");
  }
  void install_packages() { scratch_.write("examples/otel-shop/node_modules/there", ""); }
  std::string log() const { return read_file(scratch_.path() + "/log"); }
  bool nothing_left() const { return fs::is_empty(scratch_.path() + "/tmp"); }

  Scratch scratch_;
  FakeWorld world_;
  std::string old_path_;
};

TEST_F(DemoTest, OnceShowsTheSlowestAndATreeAndRemovesEverything) {
  EXPECT_EQ(world_.run({"demo", "--once", "--seconds", "3"}), ExitCode::kOk) << world_.err;
  EXPECT_EQ(world_.urls, std::vector<std::string>{"h:1"});
  EXPECT_NE(world_.out.find("The slowest requests:\n\nDURATION"), std::string::npos);
  EXPECT_NE(world_.out.find("trace 4bf92f3577b34da6a3ce929d0e0e4736\n"), std::string::npos);
  EXPECT_NE(log().find("shop run --seconds 3 --directory " + scratch_.path() + "/tmp/"), std::string::npos) << log();
  EXPECT_NE(log().find("socket /a\n"), std::string::npos) << "the demo's own agent is told to it";
  EXPECT_EQ(log().find("node"), std::string::npos) << "this shop has nothing to do with Node";
  EXPECT_NE(log().find("server-stopped"), std::string::npos);
  EXPECT_TRUE(nothing_left());
}

TEST_F(DemoTest, AHostThatForbidsRecordingIsNoFailure) {
  program("fathom-recorder", "echo 'fathom record: ptrace is forbidden here' >&2; exit 5");
  EXPECT_EQ(world_.run({"demo", "--once"}), ExitCode::kOk);
  EXPECT_NE(world_.err.find("no instructions were recorded here: fathom record: ptrace is forbidden here\n"),
            std::string::npos)
      << world_.err;
  EXPECT_NE(log().find("fathom-recorder --span=shelves.* --min-duration=10ms --threads=all"), std::string::npos);
  EXPECT_TRUE(nothing_left());
}

TEST_F(DemoTest, ARecordingOfALockThatWasNearlyFreeIsRepeated) {
  program("fathom-worker", "echo calls");
  program("fathom-recorder", R"(for word; do case "$word" in --json=*) json="${word#--json=}";; esac; done
few='{"snapshot_id":"few","pushed":true,"lock_holder":7,"instructions":3028}'
many='{"snapshot_id":"many","pushed":true,"lock_holder":7,"instructions":40000}'
if test -e "$json"; then echo "$many" > "$json"; else echo "$few" > "$json"; fi)");
  EXPECT_EQ(world_.run({"demo", "--once"}), ExitCode::kOk) << world_.err;
  EXPECT_NE(world_.err.find("that one had the lock too soon; recording another ...\n"), std::string::npos)
      << world_.err;
  EXPECT_NE(log().find("calls many"), std::string::npos) << log();
  EXPECT_EQ(log().find("calls few"), std::string::npos) << log();
}

TEST_F(DemoTest, RecordingCanBeLeftOut) {
  program("fathom-recorder", "exit 5");
  EXPECT_EQ(world_.run({"demo", "--once", "--no-record"}), ExitCode::kOk);
  EXPECT_EQ(log().find("fathom-recorder"), std::string::npos) << log();
}

TEST_F(DemoTest, NothingOfItIsSharedWithTheHost) {
  world_.environment["FATHOM_AGENT_SOCKET"] = "/run/elsewhere";
  EXPECT_EQ(world_.run({"demo", "--once"}), ExitCode::kOk) << world_.err;
  size_t socket = log().find(
      "--http 127.0.0.1:0 --otlp-grpc 127.0.0.1:0 --otlp-http 127.0.0.1:0 --ingest 127.0.0.1:0 "
      "--agent-socket " +
      scratch_.path() + "/tmp/");
  EXPECT_NE(socket, std::string::npos) << log();
}

TEST_F(DemoTest, SpansThatAreStillOnTheirWayAreWaitedFor) {
  FakeWorld slow;
  slow.executable = world_.executable;
  slow.environment = world_.environment;
  slow.answer(200, R"({"rows":[],"next_cursor":""})");
  slow.answer(200, R"({"rows":[],"next_cursor":""})");
  slow.answer(200, kRows);
  slow.answer(200, kTraceAnswer);
  EXPECT_EQ(slow.run({"demo", "--once"}), ExitCode::kOk) << slow.err;
  EXPECT_NE(slow.out.find("trace 4bf92f3577b34da6a3ce929d0e0e4736\n"), std::string::npos);
}

// Of a request of 100 ns: a span on a thread of its own, which waited so long in this.
std::string timeline_of(const std::string& trace_id, int waited_nano, const std::string& in) {
  return R"({"trace_id":")" + trace_id + R"(","duration_nano":100,"captures":[{"id":"c3"}],"processes":[{"threads":[)" +
         R"({"tid":7,"spans":[{"longest_wait":{"state":"sleeping","duration_nano":)" + std::to_string(waited_nano) +
         R"(,"in":")" + in + R"("}}]}]}]})";
}

TEST_F(DemoTest, TheTreeIsOfARequestOfWhichAThreadIsKnownAndWaited) {
  FakeWorld captured;
  captured.executable = world_.executable;
  captured.environment = world_.environment;
  captured.answer(200, R"({"rows":[{"trace_id":"a0","captures":1},{"trace_id":"a1"},{"trace_id":"a2","captures":1},)"
                       R"({"trace_id":"b2","captures":1},{"trace_id":"b3","captures":1}],"next_cursor":""})");
  captured.answer(200, R"({"trace_id":"a0","captures":[{"id":"c2"}],"processes":[{"spans":[{}],"threads":[]}]})");
  captured.answer(200, timeline_of("a2", 20, "futex"));
  captured.answer(200, timeline_of("b2", 90, "futex"));
  captured.answer(200, R"({"trace_id":"b2","spans":[{"span_id":"d4"}]})");
  EXPECT_EQ(captured.run({"demo", "--once"}), ExitCode::kOk) << captured.err;
  const std::vector<std::string> asked(captured.targets.begin() + 1, captured.targets.end());
  EXPECT_EQ(asked, (std::vector<std::string>{"/api/v1/traces/a0/timeline", "/api/v1/traces/a2/timeline",
                                             "/api/v1/traces/b2/timeline", "/api/v1/traces/b2"}))
      << "those without a capture are not asked for, nor those behind what is good enough";
  EXPECT_NE(
      captured.out.find("\nNumber 4, the slowest one of which is known on which thread it waited (captures are "
                        "limited to some per second, so not every slow request has one), as a tree:\n\ntrace b2\n"),
      std::string::npos)
      << captured.out;
  EXPECT_NE(captured.out.find("(fathom timeline b2;"), std::string::npos) << captured.out;
}

TEST_F(DemoTest, AnAppThatIsNoneIsAUsageError) {
  EXPECT_EQ(world_.run({"demo", "--app", "otelshop"}), ExitCode::kUsage);
  EXPECT_NE(world_.err.find("otel-shop"), std::string::npos) << world_.err;
}

TEST_F(DemoTest, TheOtherShopRunsWithWhatIsInstalled) {
  install_packages();
  EXPECT_EQ(world_.run({"demo", "--once", "--seconds", "3", "--app", "otel-shop"}), ExitCode::kOk) << world_.err;
  EXPECT_NE(
      log().find("node run.mjs --otlp-http http://o:3 --seconds 3 in " + scratch_.path() + "/examples/otel-shop\n"),
      std::string::npos)
      << log();
  EXPECT_EQ(log().find("npm"), std::string::npos) << "what is installed is used";
  EXPECT_EQ(log().find("shop run"), std::string::npos);
  EXPECT_TRUE(nothing_left());
}

TEST_F(DemoTest, PackagesAreFetchedIntoACopyThatDisappears) {
  EXPECT_EQ(world_.run({"demo", "--once", "--app=otel-shop"}), ExitCode::kOk) << world_.err;
  EXPECT_NE(world_.err.find("npm ci"), std::string::npos);
  EXPECT_NE(log().find("npm ci --omit=dev"), std::string::npos);
  EXPECT_NE(log().find("--seconds 20 in " + scratch_.path() + "/tmp/"), std::string::npos) << log();
  EXPECT_FALSE(fs::exists(scratch_.path() + "/examples/otel-shop/node_modules"));
  EXPECT_TRUE(nothing_left());
}

TEST_F(DemoTest, AFailingInstallationIsSaid) {
  program("npm", "exit 7");
  EXPECT_EQ(world_.run({"demo", "--once", "--app=otel-shop"}), ExitCode::kLocalFailure);
  EXPECT_NE(world_.err.find("npm ci ended with status 7"), std::string::npos);
  EXPECT_TRUE(nothing_left());
}

TEST_F(DemoTest, AFailingShopIsSaid) {
  program("shop", "exit 4");
  EXPECT_EQ(world_.run({"demo", "--once"}), ExitCode::kLocalFailure);
  EXPECT_NE(world_.err.find("the shop ended with status 4"), std::string::npos);
  EXPECT_NE(log().find("server-stopped"), std::string::npos);
  EXPECT_TRUE(nothing_left());
}

TEST_F(DemoTest, AShopThatIsNotBuiltIsSaid) {
  fs::remove(scratch_.path() + "/bin/shop");
  EXPECT_EQ(world_.run({"demo", "--once"}), ExitCode::kLocalFailure);
  EXPECT_NE(world_.err.find("the demo's shop is not built"), std::string::npos) << world_.err;
  EXPECT_TRUE(nothing_left());
}

TEST_F(DemoTest, AShopThatIsBuiltWhereItsSourcesAreIsFound) {
  fs::remove(scratch_.path() + "/bin/shop");
  scratch_.write("examples/shop/README.md", "");
  program("../examples/shop/build/shop", "");
  EXPECT_EQ(world_.run({"demo", "--once"}), ExitCode::kOk) << world_.err;
  EXPECT_NE(log().find("shop/build/shop run --seconds 20"), std::string::npos) << log();
}

TEST_F(DemoTest, AServerThatDoesNotStartIsSaid) {
  program("fathom", "exit 5");
  EXPECT_EQ(world_.run({"demo", "--once"}), ExitCode::kLocalFailure);
  EXPECT_NE(world_.err.find("the server could not be started"), std::string::npos);
  EXPECT_TRUE(nothing_left());
}

TEST_F(DemoTest, AServerThatDiesEndsIt) {
  program("fathom", "echo '" + std::string(kAddresses) + "'; exit 5");
  program("shop", "sleep 1000");
  EXPECT_EQ(world_.run({"demo", "--once"}), ExitCode::kLocalFailure);
  EXPECT_NE(world_.err.find("the server ended with status 5"), std::string::npos);
}

TEST_F(DemoTest, GoesOnUntilToldToStop) {
  program("shop", "exec sleep 1000");
  Forked process([&] {
    Context context = world_.context();
    context.out = [](std::string_view text) { EXPECT_GT(::write(STDOUT_FILENO, text.data(), text.size()), 0); };
    return static_cast<int>(run_program({"demo", "--seconds", "1"}, context));
  });
  std::string line = read_line(process.out());
  while (line.find("Ctrl-C ends the demo") == std::string::npos) {
    line = read_line(process.out());
  }
  ::kill(process.pid(), SIGINT);
  EXPECT_EQ(process.exit_code(), 0);
  EXPECT_NE(log().find("shop run --seconds 0"), std::string::npos);
  EXPECT_TRUE(nothing_left());
}

// What is said of a request with that timeline, when the shop goes on.
std::string said_of(const FakeWorld& like, const std::string& timeline) {
  FakeWorld world;
  world.executable = like.executable;
  world.environment = like.environment;
  world.answer(200, R"({"rows":[{"trace_id":"b2","captures":1}],"next_cursor":""})");
  world.answer(200, timeline);
  world.answer(200, R"({"trace_id":"b2","spans":[{"span_id":"d4"}]})");
  Forked process([&] {
    Context context = world.context();
    context.out = [](std::string_view text) { EXPECT_GT(::write(STDOUT_FILENO, text.data(), text.size()), 0); };
    return static_cast<int>(run_program({"demo", "--seconds", "1", "--no-record"}, context));
  });
  std::string said;
  for (std::string line; line.find("Ctrl-C ends the demo") == std::string::npos;)
    said += line = read_line(process.out());
  ::kill(process.pid(), SIGINT);
  EXPECT_EQ(process.exit_code(), 0);
  return said;
}

TEST_F(DemoTest, ALockIsPromisedOnlyWhereOneWasWaitedFor) {
  program("shop", "exec sleep 1000");
  const std::string lock = said_of(world_, timeline_of("b2", 90, "futex"));
  EXPECT_NE(lock.find("who held the lock"), std::string::npos) << lock;
  const std::string other = said_of(world_, timeline_of("b2", 90, "read"));
  EXPECT_NE(other.find("what the other threads did meanwhile"), std::string::npos) << other;
  EXPECT_EQ(other.find("who held the lock"), std::string::npos) << other;
}

TEST_F(DemoTest, InterruptedBeforeItsEndIsNoSuccess) {
  program("shop", "echo started >&2; exec sleep 1000");
  Forked process([&] { return static_cast<int>(run_program({"demo", "--once"}, world_.context())); });
  while (read_line(process.err()).find("started") == std::string::npos) {
  }
  ::kill(process.pid(), SIGINT);
  EXPECT_EQ(process.exit_code(), 130);
  EXPECT_TRUE(nothing_left());
}

TEST_F(DemoTest, WithoutTheExampleItSaysWhereItLooks) {
  world_.environment["FATHOM_EXAMPLES"] = scratch_.path() + "/elsewhere";
  EXPECT_EQ(world_.run({"demo", "--once", "--app=otel-shop"}), ExitCode::kLocalFailure);
  EXPECT_NE(world_.err.find("FATHOM_EXAMPLES"), std::string::npos);
}

TEST(Places, TheSourceTreesExampleIsFoundByItself) {
  FakeWorld world;
  Context context = world.context();
  Result<std::string> example = example_directory(context, "otel-shop");
  ASSERT_TRUE(example.ok()) << example.error().message;
  EXPECT_TRUE(fs::exists(*example + "/run.mjs"));
}

TEST(Places, TemporaryDirectoriesGo) {
  FakeWorld world;
  Scratch scratch;
  world.environment["TMPDIR"] = scratch.path();
  {
    Result<TemporaryDirectory> directory = TemporaryDirectory::make(world.context(), "x-");
    ASSERT_TRUE(directory.ok());
    fs::create_directories(directory->path() + "/deep/er");
    EXPECT_FALSE(fs::is_empty(scratch.path()));
  }
  EXPECT_TRUE(fs::is_empty(scratch.path()));
}

}  // namespace
}  // namespace fathom::cli
