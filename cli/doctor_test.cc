#include "cli/doctor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <filesystem>

#include "cli/fd.h"
#include "cli/testing/fake_context.h"
#include "cli/testing/scratch.h"

namespace fathom::cli {
namespace {

// A socket that listens, and where.
std::pair<Fd, std::string> listener() {
  Fd socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::listen(socket.get(), 1), 0);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return {std::move(socket), "127.0.0.1:" + std::to_string(ntohs(address.sin_port))};
}

TEST(DoctorJudges, DiskSpace) {
  EXPECT_EQ(judge_disk_space(uint64_t{100} << 30, uint64_t{200} << 30).health, Health::kOk);
  EXPECT_EQ(judge_disk_space(uint64_t{1} << 30, uint64_t{200} << 30).health, Health::kWarn);
  Finding full = judge_disk_space(1000, uint64_t{200} << 30);
  EXPECT_EQ(full.health, Health::kFail);
  EXPECT_FALSE(full.cure.empty());
}

TEST(DoctorJudges, Fsync) {
  Finding quick = judge_fsync({300'000, 200'000, 9'000'000});
  EXPECT_EQ(quick.health, Health::kOk);
  EXPECT_EQ(quick.says, "300 us median, 9 ms longest of 3");
  EXPECT_EQ(judge_fsync({50'000'000}).health, Health::kWarn);
  EXPECT_EQ(judge_fsync({}).health, Health::kFail);
}

TEST(DoctorJudges, KernelSources) {
  auto judge = [](const char* text) { return judge_sources(boost::json::parse(text).as_array()); };
  auto all = judge(R"([{"name":"a","available":true},{"name":"b","available":true}])");
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].health, Health::kOk);
  EXPECT_EQ(all[0].says, "a, b");
  auto none = judge(R"([{"name":"a","available":false,"why_not":"X","cure":"do Y"},
                        {"name":"b","available":false,"why_not":"X","cure":"do Y"}])");
  ASSERT_EQ(none.size(), 1U);
  EXPECT_EQ(none[0].health, Health::kWarn);
  EXPECT_EQ(none[0].says, "no a, b: X");
  EXPECT_EQ(none[0].lacks, "a, b");
  EXPECT_EQ(none[0].cure, "do Y");
  auto some = judge(R"([{"name":"a","available":true},{"name":"b","available":false,"why_not":"X","cure":"do Y"}])");
  ASSERT_EQ(some.size(), 2U);
  EXPECT_EQ(some[0].says, "a");
  EXPECT_EQ(some[0].lacks, "");
  EXPECT_EQ(some[1].says, "no b: X");
}

TEST(DoctorJudges, NodeVersions) {
  for (const char* good : {"v18.19.0", "v20.6.0", "v20.20.2", "v22.0.0"}) {
    EXPECT_EQ(judge_node_version(good).health, Health::kOk) << good;
  }
  for (const char* bad : {"v16.20.0", "v18.13.0", "v19.9.0", "v20.5.0", "", "nonsense"}) {
    EXPECT_EQ(judge_node_version(bad).health, Health::kWarn) << bad;
  }
}

TEST(DoctorJudges, SpanClocks) {
  EXPECT_EQ(judge_tsc("\nprocessor\t: 0\nflags\t\t: fpu tsc constant_tsc nonstop_tsc\nbugs\t:\n").health, Health::kOk);
  for (const char* without : {"\nflags\t: fpu tsc constant_tsc\n", "\nflags\t: fpu tsc nonstop_tsc\nx: constant_tsc\n",
                              "", "\nFeatures: fp asimd\n"}) {
    EXPECT_EQ(judge_tsc(without).health, Health::kWarn) << without;
  }
}

TEST(DoctorChecks, SharedMemoryIsTried) {
  EXPECT_EQ(check_memfd().says, "memfd with seals");
}

TEST(DoctorChecks, TheAgentIsLookedForWhereProgramsLook) {
  FakeWorld world;
  Scratch scratch;
  world.environment["FATHOM_AGENT_SOCKET"] = scratch.path() + "/agent.sock";
  EXPECT_NE(check_agent_socket(world.context()).says.find("none where programs look: " + scratch.path()),
            std::string::npos);
  EXPECT_NE(check_agent_socket(world.context()).cure.find("fathom up"), std::string::npos);
  Fd agent(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (scratch.path() + "/agent.sock").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(agent.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_NE(check_agent_socket(world.context()).says.find("nobody listens"), std::string::npos);
  ASSERT_EQ(::listen(agent.get(), 1), 0);
  EXPECT_EQ(check_agent_socket(world.context()).health, Health::kOk);
}

TEST(DoctorChecks, ProgramsThatLookForNoAgentAreNamed) {
  FakeWorld world;
  world.environment["FATHOM_AGENT_SOCKET"] = "";
  EXPECT_EQ(check_agent_socket(world.context()).says,
            "FATHOM_AGENT_SOCKET is empty: programs started here look for no agent");
  EXPECT_EQ(check_agent_socket(world.context()).health, Health::kWarn);
  std::string longer = "/" + std::string(107, 'a');
  world.environment["FATHOM_AGENT_SOCKET"] = longer;
  EXPECT_EQ(check_agent_socket(world.context()).says,
            longer + " is too long for a socket (108 bytes of 107 at most): programs do not look there");
}

TEST(DoctorChecks, BothProgramsBelongBesideThisOne) {
  FakeWorld world;
  Scratch scratch;
  world.executable = scratch.path() + "/fathom";
  scratch.script("fathom-server", "");
  EXPECT_EQ(check_programs(world.context()).says, "fathom-agent is missing");
  scratch.script("fathom-agent", "");
  EXPECT_EQ(check_programs(world.context()).health, Health::kOk);
}

TEST(DoctorChecks, MeasuresADirectoryThatIsNotThereYet) {
  Scratch scratch;
  EXPECT_EQ(check_fsync(scratch.path() + "/not/yet").says.find("cannot"), std::string::npos);
  EXPECT_EQ(check_fsync("/proc/self").health, Health::kFail);
  EXPECT_FALSE(check_disk_space(scratch.path() + "/not/yet").says.empty());
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path())) << "nothing is left behind";
}

TEST(DoctorChecks, PortsAreTriedNotGuessed) {
  auto [socket, address] = listener();
  EXPECT_EQ(check_port("p", "--http", address, false).health, Health::kFail);
  EXPECT_NE(check_port("p", "--http", address, false).cure.find("--http"), std::string::npos);
  EXPECT_EQ(check_port("p", "--http", address, true).health, Health::kOk);
  socket.close();
  EXPECT_EQ(check_port("p", "--http", address, false).says, address + " is free");
  EXPECT_EQ(check_port("p", "--http", "nonsense", false).health, Health::kFail);
}

TEST(DoctorChecks, ADataDirectoryThatIsAFile) {
  Scratch scratch;
  std::string file = scratch.write("file", "x");
  EXPECT_EQ(check_data_directory(file).health, Health::kFail);
  EXPECT_EQ(check_data_directory(file + "/below").health, Health::kFail);
  EXPECT_EQ(check_data_directory(scratch.path()).says, scratch.path());
  EXPECT_NE(check_data_directory(scratch.path() + "/new").says.find("made when needed"), std::string::npos);
}

TEST(DoctorChecks, ADataDirectoryThatIsInUse) {
  Scratch scratch;
  std::filesystem::create_directory(scratch.path() + "/store");
  std::string file = scratch.write("store/LOCK", "");
  Forked holder([&] {
    Fd lock(::open(file.c_str(), O_RDWR));
    struct flock wanted {};
    wanted.l_type = F_WRLCK;
    bool locked = ::fcntl(lock.get(), F_SETLK, &wanted) == 0;
    EXPECT_EQ(::write(STDOUT_FILENO, locked ? "held\n" : "free\n", 5), 5);
    return ::pause();
  });
  ASSERT_EQ(read_line(holder.out()).substr(0, 4), "held");
  Finding finding = check_data_directory(scratch.path());
  EXPECT_EQ(finding.health, Health::kOk);
  EXPECT_NE(finding.says.find("process " + std::to_string(holder.pid())), std::string::npos) << finding.says;
}

TEST(DoctorChecks, FileSystemsAreNamed) {
  EXPECT_NE(check_file_system("/proc/self").says.find("proc, mounted at /proc"), std::string::npos)
      << check_file_system("/proc/self").says;
}

TEST(Doctor, AStrangerAtTheUrlIsAFailure) {
  FakeWorld world;
  world.answer(200, "<html>");
  EXPECT_EQ(world.run({"doctor"}), ExitCode::kLocalFailure);
  EXPECT_NE(world.out.find("is not fathom"), std::string::npos) << world.out;
}

TEST(Doctor, AnAbsentServerIsAWarningWithTheCure) {
  FakeWorld world;
  Scratch scratch;
  scratch.script("fathom-server", "");
  scratch.script("fathom-agent", "");
  world.executable = scratch.path() + "/fathom";
  ExitCode code = world.run({"doctor", "--data", scratch.path(), "--format", "json"});
  boost::json::value document = boost::json::parse(world.out);
  bool ok = document.at("ok").as_bool();
  EXPECT_EQ(code, ok ? ExitCode::kOk : ExitCode::kLocalFailure);
  bool seen = false;
  for (const auto& check : document.at("checks").as_array()) {
    bool fine = check.at("status").as_string() == "ok";
    EXPECT_EQ(fine, check.at("cure").as_string().empty()) << check;
    if (check.at("check").as_string() != "server") continue;
    seen = true;
    EXPECT_EQ(check.at("status").as_string(), "warn");
    EXPECT_NE(std::string(check.at("cure").as_string()).find("fathom up"), std::string::npos);
  }
  EXPECT_TRUE(seen);
}

TEST(Doctor, IntelPtIsAskedOfTheRecorder) {
  FakeWorld world;
  Scratch scratch;
  world.executable = scratch.path() + "/fathom";
  EXPECT_EQ(world.run({"doctor", "--pt"}), ExitCode::kLocalFailure);
  EXPECT_NE(world.out.find("install fathom-recorder"), std::string::npos) << world.out;
  scratch.script("fathom-recorder", R"(echo '{"works":false,"says":"no PT in '"$1"'","cure":"buy one"}')");
  world.out.clear();
  EXPECT_EQ(world.run({"doctor", "--pt"}), ExitCode::kLocalFailure);
  EXPECT_NE(world.out.find("no PT in --doctor-pt"), std::string::npos) << world.out;
  EXPECT_NE(world.out.find("-> buy one"), std::string::npos) << world.out;
  EXPECT_TRUE(world.out.ends_with("\nsnapshots by Intel PT do not work here: no PT in --doctor-pt\n")) << world.out;
  scratch.script("fathom-recorder", R"(echo '{"works":true,"says":"it works","cure":""}')");
  world.out.clear();
  EXPECT_EQ(world.run({"doctor", "--pt"}), ExitCode::kOk);
  EXPECT_EQ(world.out, "ok    Intel PT            it works\nsnapshots by Intel PT work here\n");
  scratch.script("fathom-recorder", "echo nonsense");
  EXPECT_EQ(world.run({"doctor", "--pt"}), ExitCode::kLocalFailure);
}

TEST(Doctor, AServerThatIsNotReadyIsAFailure) {
  FakeWorld world;
  world.answer(200, "ok\n");
  world.answer(503, "not ready: starting or stopping\n");
  EXPECT_EQ(world.run({"doctor"}), ExitCode::kLocalFailure);
  EXPECT_NE(world.out.find("fail  server"), std::string::npos) << world.out;
  EXPECT_NE(world.out.find("not ready: starting or stopping\n"), std::string::npos) << world.out;
  EXPECT_NE(world.out.find("try again"), std::string::npos) << world.out;
}

TEST(Doctor, AServerWithoutRoomIsToldFromAStranger) {
  FakeWorld world;
  world.answer(200, "ok\n");
  world.answer(503, "not ready: the store cannot be written; is the disk full?\n");
  world.answer(200, R"({"version":"9.9","ready":true,"store":{"writable":false}})");
  EXPECT_EQ(world.run({"doctor"}), ExitCode::kLocalFailure);
  EXPECT_NE(world.out.find("cannot write what it is sent"), std::string::npos) << world.out;
  EXPECT_NE(world.out.find("make room"), std::string::npos) << world.out;
  EXPECT_EQ(world.out.find("address for queries"), std::string::npos) << world.out;
}

TEST(Doctor, AReadyServerSaysItsVersion) {
  FakeWorld world;
  world.answer(200, "ok\n");
  world.answer(200, "ready\n");
  world.answer(200, R"({"version":"9.9","ready":true})");
  world.run({"doctor"});
  EXPECT_EQ(world.targets, (std::vector<std::string>{"/healthz", "/readyz", "/api/v1/status", "/api/v1/nodes"}));
  EXPECT_NE(world.out.find("ready, version 9.9"), std::string::npos) << world.out;
}

TEST(Doctor, WhatNodesLostIsAWarningWithTheCure) {
  FakeWorld world;
  world.answer(200, "ok\n");
  world.answer(200, "ready\n");
  world.answer(200, R"({"version":"9.9","ready":true})");
  world.answer(
      200, R"({"nodes":[{"host_name":"db-1","node_id":"0123456789","losses":[{"reason":"pool_full","count":1200}]},)"
           R"({"host_name":"db-2","node_id":"ff","losses":[]}]})");
  world.run({"doctor"});
  size_t at = world.out.find("warn  nodes               node db-1 (01234567) lost 1,200 spans: pool_full\n");
  ASSERT_NE(at, std::string::npos) << world.out;
  EXPECT_LT(world.out.find("-> give its busiest programs more memory", at), world.out.find("port: queries"))
      << world.out;
}

TEST(DoctorJudges, NodesLosses) {
  auto judge = [](const std::string& losses) {
    return judge_nodes(boost::json::parse(R"([{"host_name":"a","node_id":"1","losses":[)" + losses + "]}]").as_array());
  };
  EXPECT_EQ(judge("")[0].health, Health::kOk);
  EXPECT_EQ(judge_nodes({})[0].says, "none known");
  EXPECT_EQ(judge(R"({"reason":"refused","count":0})")[0].says, "1 known, nothing lost since its agent was started");
  EXPECT_EQ(judge_nodes(boost::json::parse("[{},{}]").as_array())[0].says,
            "2 known, nothing lost since their agents were started");
  auto found =
      judge(R"({"reason":"value_cut","count":9},{"reason":"meteor","count":7},{"reason":"refused","count":1})");
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].says, "node a (1) lost 1 spans: refused") << "whole spans first";
  EXPECT_EQ(found[1].says, "node a (1) lost 9 parts of spans: value_cut");
  EXPECT_EQ(found[2].says, "node a (1) lost 7 things: meteor");
  for (const Finding& finding : found) EXPECT_NE(finding.cure, "") << finding.says;
  std::string many = R"({"reason":"refused","count":1})";
  for (int i = 0; i < 9; ++i) many += "," + many.substr(0, many.find('}') + 1);
  found = judge(many);
  ASSERT_EQ(found.size(), 9u);
  EXPECT_EQ(found[8].says, "2 more such losses");
}

TEST(Doctor, WordsAndColours) {
  std::vector<Finding> findings{{"disk", Health::kOk, "fine", ""}, {"clock", Health::kWarn, "odd\x1b", "mend it"}};
  EXPECT_EQ(findings_text(findings, false),
            "ok    disk                fine\n"
            "warn  clock               odd\\x1b\n"
            "                          -> mend it\n");
  EXPECT_NE(findings_text(findings, true).find("\x1b[33mwarn"), std::string::npos);
  EXPECT_EQ(findings_json(findings), R"({"ok":true,"checks":[{"check":"disk","status":"ok","says":"fine","cure":""},)"
                                     R"({"check":"clock","status":"warn","says":"odd\u001b","cure":"mend it"}]})"
                                     "\n");
}

}  // namespace
}  // namespace fathom::cli
