// Snapshots over HTTP: sent, listed, fetched, asked.
#include "query/snapshots/snapshot_routes.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>

#include "net/http_client.h"
#include "net/testing/raw_client.h"
#include "query/query_server.h"
#include "query/snapshots/upload_routes.h"
#include "query/testing/sample_snapshots.h"
#include "query/testing/sample_store.h"
#include "query/testing/sample_timeline.h"

namespace fathom::query {
namespace {

using testing::image_of;
using testing::made_snapshot;
using testing::MadeSnapshot;
using testing::numbered_snapshot;
using testing::SampleSnapshots;

class SnapshotRoutesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server_ = std::make_unique<QueryServer>(QueryOptions{.snapshot_workers = 1},
                                            Stores(spans_, nullptr, &snapshots_.store()));
    auto bound = server_->start();
    ASSERT_TRUE(bound.ok()) << bound.error().message;
    address_ = *bound;
    client_ = std::make_unique<net::HttpClient>(*bound);
  }
  static net::HttpReply checked(Result<net::HttpReply> reply) {
    EXPECT_TRUE(reply.ok()) << reply.error().message;
    return reply.ok() ? *std::move(reply) : net::HttpReply{};
  }
  net::HttpReply get(const std::string& target) { return checked(client_->get("/api/v1/" + target)); }
  net::HttpReply put(const std::string& target, const std::string& bytes) {
    return checked(client_->put("/api/v1/" + target, "application/octet-stream", bytes));
  }
  boost::json::object ask(const std::string& target) {
    net::HttpReply reply = get(target);
    EXPECT_EQ(reply.status, 200) << target << ": " << reply.body;
    return boost::json::parse(reply.body).as_object();
  }
  std::string refusal(const net::HttpReply& reply, int status) {
    EXPECT_EQ(reply.status, status) << reply.body;
    return std::string(boost::json::parse(reply.body).at("error").at("message").as_string());
  }
  std::string refusal(const std::string& target, int status) { return refusal(get(target), status); }
  std::vector<std::string> ids(const std::string& parameters) {
    std::vector<std::string> found;
    auto answer = ask("snapshots" + parameters);
    for (const auto& row : answer["snapshots"].as_array()) found.emplace_back(row.at("id").as_string());
    return found;
  }
  std::string add(uint64_t n) {
    MadeSnapshot made = made_snapshot(numbered_snapshot(n));
    EXPECT_TRUE(snapshots_.upload(made).ok());
    return made.id.hex();
  }

  TempDirectory sources_;
  SampleSnapshots snapshots_{{.source_directories = {{"/build", sources_.path()}}}};
  testing::SampleStore spans_;
  std::unique_ptr<QueryServer> server_;
  std::string address_;
  std::unique_ptr<net::HttpClient> client_;
};

std::string piece_of(const std::string& path, uint64_t offset, uint64_t total) {
  return path + "/bytes?offset=" + std::to_string(offset) + "&total=" + std::to_string(total);
}

TEST_F(SnapshotRoutesTest, PiecesGoUpAndComeDown) {
  MadeSnapshot made = made_snapshot(numbered_snapshot(1), std::string(3'000'000, 'p'));
  const std::string path = "snapshots/" + made.id.hex();
  const uint64_t total = made.bytes.size();
  EXPECT_EQ(put(piece_of(path, 0, total), made.bytes.substr(0, 2'000'000)).body,
            "{\"offset\":2000000,\"stored\":false}\n");
  net::HttpReply wrong = put(piece_of(path, 5, total), "later");
  EXPECT_EQ(wrong.status, 409);
  EXPECT_EQ(boost::json::parse(wrong.body).at("offset").to_number<uint64_t>(), 2'000'000u);
  EXPECT_NE(refusal(wrong, 409).find("2000000"), std::string::npos);
  EXPECT_EQ(put(piece_of(path, 0, total), "").body, "{\"offset\":2000000,\"stored\":false}\n") << "a question";
  EXPECT_EQ(get(path).status, 404);
  EXPECT_EQ(put(piece_of(path, 2'000'000, total), made.bytes.substr(2'000'000)).body,
            "{\"offset\":" + std::to_string(total) + ",\"stored\":true}\n");
  net::HttpReply first = get(path + "/bytes?offset=0&bytes=1000000");
  EXPECT_EQ(first.body, made.bytes.substr(0, 1'000'000));
  EXPECT_EQ(get(path + "/bytes?offset=1000000").body, made.bytes.substr(1'000'000));
  EXPECT_EQ(get(path + "/bytes?offset=99999999").body, "");
}

TEST_F(SnapshotRoutesTest, ImagesAreAskedForAndSent) {
  const std::string name = sha256(image_of(1)).hex();
  const std::string other = sha256("other").hex();
  auto missing = [&] {
    return checked(client_->post("/api/v1/images/missing", "application/json",
                                 R"({"sha256":[")" + name + R"(",")" + other + R"("]})"))
        .body;
  };
  EXPECT_EQ(missing(), R"({"missing":[")" + name + R"(",")" + other + "\"]}\n");
  EXPECT_EQ(put(piece_of("images/" + name, 0, image_of(1).size()), image_of(1)).status, 200);
  EXPECT_EQ(missing(), R"({"missing":[")" + other + "\"]}\n");
  EXPECT_EQ(get("images/" + name + "/bytes").body, image_of(1));
  EXPECT_EQ(get("images/" + other + "/bytes").status, 404);
}

TEST_F(SnapshotRoutesTest, ADocumentSaysWhatThereIsAndWhatIsMissing) {
  auto sample = numbered_snapshot(1);
  sample.trigger = {"overdue", 5000, 43, testing::sample_trace_id(1), testing::sample_span_id(2)};
  sample.slowdown = 12.5;
  sample.images.push_back({"[vdso]", "", snapshot::ImageKind::kFlat, {}, 0, "not readable"});
  sample.losses.push_back({"ring overwritten", 3});
  for (int32_t waiter : {44, 43, 143}) {
    snapshot::Sideband wait;
    wait.kind = snapshot::SidebandKind::kLockWait;
    wait.tid = waiter;
    wait.other_tid = waiter + 100;
    sample.sideband.push_back(wait);
  }
  sample.streams = {{.cpu = -1, .pid = 42, .tid = 43, .pieces = {}}};
  MadeSnapshot made = made_snapshot(sample);
  ASSERT_TRUE(snapshots_.upload(made).ok());
  const std::string image = sha256(image_of(1)).hex();
  EXPECT_EQ(
      get("snapshots/" + made.id.hex()).body,
      R"({"id":")" + made.id.hex() +
          R"(","engine":"step","origin":"recorded","taken_unix_nano":"1795000001000000000",)" +
          R"("received_unix_nano":"1795221000000000000","host":"node-1","command":"shop --number 1",)" +
          R"("trigger":{"reason":"overdue","tid":43,"trace_id":")" + testing::sample_trace_id(1).hex() +
          R"(","span_id":")" + testing::sample_span_id(2).hex() + R"("},"bytes":)" + std::to_string(made.bytes.size()) +
          R"(,"packet_bytes":7,"streams":1,"images":2,"missing_images":2,"losses":[{"name":"ring overwritten","count":3}],)" +
          R"("slowdown":12.5,"damaged":false,"threads":[{"cpu":-1,"pid":42,"tid":43,"bytes":7}],"image_files":[)" +
          R"({"name":"/usr/bin/shop","sha256":")" + image +
          R"(","build_id":"0102","kind":"elf","bytes":14,"stored":false},)" +
          R"({"name":"[vdso]","sha256":"","build_id":"","kind":"flat","bytes":0,"stored":false,)" +
          R"("missing":"not readable"}]})" + "\n");
  ASSERT_TRUE(snapshots_.upload_image(image_of(1)).ok());
  EXPECT_EQ(ask("snapshots/" + made.id.hex())["missing_images"].as_int64(), 1);
  EXPECT_EQ(ids("?trace_id=" + testing::sample_trace_id(1).hex()), std::vector{made.id.hex()});
  EXPECT_TRUE(ids("?trace_id=" + testing::sample_trace_id(2).hex()).empty());
  auto trace = ask("traces/" + testing::sample_trace_id(1).hex())["snapshots"].as_array();
  ASSERT_EQ(trace.size(), 1u);
  EXPECT_EQ(trace[0].at("id").as_string(), made.id.hex());
  EXPECT_EQ(trace[0].at("tid").as_int64(), 43);
  EXPECT_EQ(trace[0].at("lock_holder").as_int64(), 143) << "of the lock that the trigger's thread waited for";
  EXPECT_EQ(trace[0].at("blocking_thread").as_int64(), 243) << "for which that one waited itself";
  const auto slowest = ask("slowest?limit=1000&from=0&to=now")["rows"].as_array();
  ASSERT_FALSE(slowest.empty());
  for (const auto& row : slowest) {
    const bool recorded = row.at("trace_id").as_string() == testing::sample_trace_id(1).hex();
    EXPECT_EQ(row.at("snapshots").as_int64(), recorded ? 1 : 0);
  }
  EXPECT_FALSE(ask("traces/" + testing::sample_trace_id(2).hex()).contains("snapshots"));
}

TEST_F(SnapshotRoutesTest, TheListIsNewestFirstFilteredAndPaged) {
  std::vector<std::string> all;
  for (uint64_t n = 0; n < 5; ++n) all.insert(all.begin(), add(n));
  EXPECT_EQ(ids(""), all) << "of any time";
  EXPECT_EQ(ids("?host=node-1"), (std::vector{all[1], all[3]}));
  EXPECT_EQ(ids("?from=1795000001&to=1795000003"), (std::vector{all[2], all[3]}));
  std::string cursor;
  std::vector<std::string> seen;
  for (int page = 0; page < 10; ++page) {
    auto answer = ask("snapshots?limit=2" + (cursor.empty() ? "" : "&cursor=" + cursor));
    for (const auto& row : answer["snapshots"].as_array()) seen.emplace_back(row.at("id").as_string());
    cursor = std::string(answer["next_cursor"].as_string());
    if (cursor.empty()) break;
  }
  EXPECT_EQ(seen, all);
  auto first = ask("snapshots?limit=2");
  EXPECT_NE(refusal("snapshots?host=x&cursor=" + std::string(first["next_cursor"].as_string()), 400).find("cursor"),
            std::string::npos);
}

TEST_F(SnapshotRoutesTest, QuestionsBecomeWordsOfTheWorker) {
  const std::string one = add(1), two = add(2);
  std::vector<std::string> words;
  snapshots_.worker = [&](const auto& given, store::QueryBudget&) -> Result<std::string> {
    words = given;
    return std::string("{\"answer\":1}\n");
  };
  using Words = std::vector<std::string>;
  const Words begin{"--directory", snapshots_.path()};
  auto expect = [&](const std::string& target, Words rest) {
    net::HttpReply reply = get("snapshots/" + target);
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(reply.body, "{\"answer\":1}\n");
    rest.insert(rest.begin(), begin.begin(), begin.end());
    EXPECT_EQ(words, rest);
    return reply;
  };
  expect(one + "/calls", {"calls", one, "--format", "json"});
  expect(one + "/insns?limit=5&tid=43&count",
         {"insns", one, "--format", "json", "--count", "--limit", "5", "--tid", "43"});
  expect(one + "/delta?from=-x&to=a%20b", {"delta", one, "--format", "json", "--from=-x", "--to=a b"});
  expect(one + "/diff/" + two, {"diff", one, "--other", two, "--format", "json"});
  net::HttpReply picture = expect(one + "/sunburst?format=svg", {"sunburst", one, "--format", "svg"});
  std::string type, policy;
  for (const auto& [name, value] : picture.headers) {
    if (name == "content-type") type = value;
    if (name == "content-security-policy") policy = value;
  }
  EXPECT_EQ(type, "image/svg+xml");
  EXPECT_NE(policy.find("sandbox"), std::string::npos);
}

TEST_F(SnapshotRoutesTest, LookingIntoOneIsALineForWhatKeepsItOpen) {
  const std::string one = add(1);
  std::string line;
  snapshots_.view = [&](const std::string& directory, const SnapshotId& id, const std::string& given,
                        store::QueryBudget&) -> Result<std::string> {
    EXPECT_EQ(directory, snapshots_.path());
    EXPECT_EQ(id.hex(), one);
    line = given;
    return std::string("{}\n");
  };
  auto expect = [&](const std::string& target, const std::string& wanted) {
    EXPECT_EQ(get("snapshots/" + one + "/view" + target).status, 200) << target;
    EXPECT_EQ(line, wanted);
  };
  expect("", "threads");
  expect("/calls?thread=2", "calls thread=2");
  expect("/calls?thread=0&axis=rows&from=-5&to=900&columns=1200&first_depth=3&depths=40",
         "calls thread=0 axis=rows from=-5 to=900 columns=1200 first_depth=3 depths=40");
  expect("/insns?thread=0&row=17&count=500", "insns thread=0 row=17 count=500");
  expect("/insns?thread=0&at=-9007199254740991", "insns thread=0 at=-9007199254740991");
  expect("/stack?thread=0&row=17&depth=2", "stack thread=0 row=17 depth=2");
  expect("/find?thread=0&row=1&function=a%20b%0a&backwards", "find thread=0 row=1 function=6120620a backwards=true");
  expect("/find?text=%c3%a9", "find text=c3a9");
}

TEST_F(SnapshotRoutesTest, MistakesInLookingAreNamed) {
  const std::string one = add(1);
  snapshots_.view = [&](const auto&, const auto&, const auto&, store::QueryBudget&) -> Result<std::string> {
    return not_found("there is no thread 7");
  };
  const std::string view = "snapshots/" + one + "/view";
  EXPECT_EQ(refusal(view + "/calls?thread=7", 404), "there is no thread 7");
  EXPECT_NE(refusal(view + "/calls?columns=5000", 400).find("columns"), std::string::npos);
  EXPECT_NE(refusal(view + "/calls?from=9007199254740992", 400).find("from"), std::string::npos);
  EXPECT_NE(refusal(view + "/calls?axis=depth", 400).find("axis"), std::string::npos);
  EXPECT_NE(refusal(view + "/insns?count=501", 400).find("count"), std::string::npos);
  EXPECT_NE(refusal(view + "/insns?rwo=5", 400).find("rwo"), std::string::npos);
  EXPECT_NE(refusal(view + "/find?row=1", 400).find("'function' or 'text'"), std::string::npos);
  EXPECT_NE(refusal(view + "/find?text=a&function=b", 400).find("one of them"), std::string::npos);
  refusal(view + "/sing", 404);
  refusal("snapshots/" + std::string(32, '1') + "/view", 404);
}

TEST_F(SnapshotRoutesTest, SourceIsShownOfDirectoriesThatWereGiven) {
  std::ofstream(sources_.path() + "/shop.cc") << "int a;\nint b;\nint \xff;\n";
  std::ofstream(sources_.path() + "/.env") << "PASSWORD=x\n";
  snapshots_.view = [](const std::string&, const SnapshotId&, const std::string& ask,
                       store::QueryBudget&) -> Result<std::string> {
    if (ask == "source text=" + to_hex("/build/shop.cc")) return std::string("named\n");
    return not_found("no line is of this file");
  };
  const std::string source = "snapshots/" + add(1) + "/view/source";
  EXPECT_EQ(get(source + "?file=/build/shop.cc&line=1&context=1").body,
            R"({"file":"/build/shop.cc","first_line":1,"lines":["int a;","int b;"]})"
            "\n");
  EXPECT_EQ(ask(source + "?file=/build/shop.cc&line=3")["lines"].as_array().size(), 3u);
  for (const std::string file : {"/etc/passwd", "/build/../../etc/passwd", "/build/none.cc"}) {
    auto answer = ask(source + "?line=1&file=" + file);
    EXPECT_NE(answer["missing"].as_string().find("--source-dir"), std::string::npos) << file;
    EXPECT_TRUE(answer["lines"].as_array().empty()) << file;
  }
  auto unnamed = ask(source + "?line=1&file=/build/.env");
  EXPECT_NE(unnamed["missing"].as_string().find("no line of this snapshot is of '/build/.env'"), std::string::npos);
  EXPECT_TRUE(unnamed["lines"].as_array().empty());
  EXPECT_NE(refusal(source + "?file=/build/shop.cc&line=1&context=51", 400).find("context"), std::string::npos);
  EXPECT_NE(refusal(source + "?file=/build/shop.cc&line=0", 400).find("'line'"), std::string::npos);
  EXPECT_NE(refusal(source + "?file=/build/shop.cc", 400).find("give 'file' and 'line'"), std::string::npos);
  refusal("snapshots/" + std::string(32, '1') + "/view/source?file=/build/shop.cc&line=1", 404);
}

TEST_F(SnapshotRoutesTest, WhatTheWorkerSaysIsPassedOn) {
  const std::string one = add(1);
  std::optional<Error> fault;
  snapshots_.worker = [&](const auto&, store::QueryBudget&) -> Result<std::string> { return *fault; };
  fault = not_found("no thread 7");
  EXPECT_EQ(refusal("snapshots/" + one + "/calls", 404), "no thread 7");
  fault = exhausted("use limit");
  EXPECT_EQ(refusal("snapshots/" + one + "/insns", 413), "use limit");
  fault = internal("it crashed");
  EXPECT_EQ(refusal("snapshots/" + one + "/stats", 500), "it crashed");
}

// The worker's thread waits; spans and bytes are asked for all the same.
TEST_F(SnapshotRoutesTest, ALongQuestionKeepsNobodyWaitingAndEndsWithItsAsker) {
  const std::string one = add(1);
  std::mutex mutex;
  std::condition_variable changed;
  int begun = 0, cancelled = 0;
  snapshots_.worker = [&](const auto&, store::QueryBudget& budget) -> Result<std::string> {
    {
      std::lock_guard lock(mutex);
      ++begun;
      changed.notify_all();
    }
    while (budget.check().ok()) std::this_thread::yield();
    std::lock_guard lock(mutex);
    ++cancelled;
    changed.notify_all();
    return budget.check().error();
  };
  auto asker = std::make_unique<net::testing::RawClient>(address_);
  asker->send("GET /api/v1/snapshots/" + one + "/calls HTTP/1.1\r\nHost: localhost\r\n\r\n");
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return begun == 1; });
  lock.unlock();
  EXPECT_EQ(get("slowest").status, 200);
  EXPECT_EQ(get("snapshots/" + one + "/bytes").status, 200);
  EXPECT_EQ(ids("").size(), 1u);
  asker.reset();
  lock.lock();
  changed.wait(lock, [&] { return cancelled == 1; });
}

TEST_F(SnapshotRoutesTest, MistakesAreNamed) {
  const std::string one = add(1);
  EXPECT_NE(refusal("snapshots/xyz", 400).find("32 hexadecimal digits"), std::string::npos);
  EXPECT_NE(refusal("snapshots/..%2f..%2fetc/bytes", 400).find("32 hexadecimal digits"), std::string::npos);
  EXPECT_NE(refusal("images/12/bytes", 400).find("64 hexadecimal digits"), std::string::npos);
  EXPECT_NE(refusal("snapshots?colour=red", 400).find("colour"), std::string::npos);
  EXPECT_NE(refusal("snapshots?trace_id=1", 400).find("trace_id"), std::string::npos);
  EXPECT_NE(refusal("snapshots/" + one + "/calls?format=table", 400).find("format"), std::string::npos);
  for (const char* half : {"/delta", "/delta?from=cli", "/delta?to=sti&from="}) {
    const std::string said = refusal("snapshots/" + one + half, 400);
    EXPECT_NE(said.find("'from' and 'to'"), std::string::npos) << said;
    EXPECT_EQ(said.find("--"), std::string::npos) << "flags are a command line's: " << said;
  }
  EXPECT_NE(refusal("snapshots/" + one + "/delta?from=a%00b", 400).find("from"), std::string::npos);
  EXPECT_NE(refusal("snapshots/" + one + "/bytes?bytes=8388609", 400).find("bytes"), std::string::npos);
  EXPECT_NE(refusal("snapshots/" + one + "/diff/xyz", 400).find("32 hexadecimal digits"), std::string::npos);
  refusal("snapshots/" + one + "/sing", 404);
  refusal("snapshots/" + one + "/diff", 404);
  refusal("snapshots/" + one + "/diff/" + std::string(32, '1'), 404);
  refusal("snapshots/" + std::string(32, '1'), 404);
  refusal("snapshots/" + std::string(32, '1') + "/calls", 404);
}

TEST_F(SnapshotRoutesTest, HostilePutsAreRefused) {
  const std::string name = "images/" + sha256("x").hex();
  EXPECT_NE(refusal(put(name + "/bytes?offset=0", "x"), 400).find("total"), std::string::npos);
  EXPECT_NE(refusal(put(piece_of(name, 1, 1), "x"), 400).find("offset"), std::string::npos);
  EXPECT_NE(refusal(put(piece_of(name, 0, 1) + "&more=1", "x"), 400).find("more"), std::string::npos);
  refusal(put(piece_of("images/..", 0, 1), "x"), 400);
  refusal(put("slowest", "x"), 404);
  refusal(put(piece_of(name, 0, UINT64_MAX), "x"), 413);
  refusal(put(piece_of(name, 0, 1), "y"), 400);
  refusal(put(piece_of(name, 0, 1), "xy"), 400);
  refusal(put(piece_of(name, 0, 100'000'000), std::string(kMostPieceBytes + 1, 'x')), 413);
  EXPECT_EQ(put(piece_of(name, 0, 1), "x").status, 200);
  for (const char* body : {"", "[]", "{}", R"({"sha256":"x"})", R"({"sha256":[1]})", R"({"sha256":["12"]})"}) {
    refusal(checked(client_->post("/api/v1/images/missing", "application/json", body)), 400);
  }
  refusal(checked(client_->post("/api/v1/images/missing", "text/plain", "{}")), 415);
  refusal(
      checked(client_->post("/api/v1/images/missing", "application/json", "{}", {{"Origin", "http://evil.example"}})),
      403);
}

TEST(SnapshotRoutes, WithoutAStoreThereAreNone) {
  testing::SampleStore spans;
  QueryServer server({}, spans);
  auto bound = server.start();
  ASSERT_TRUE(bound.ok());
  net::HttpClient client(*bound);
  EXPECT_EQ(client.get("/api/v1/snapshots")->body, "{\"snapshots\":[],\"next_cursor\":\"\"}\n");
  EXPECT_EQ(client.get("/api/v1/snapshots/" + std::string(32, '1'))->status, 404);
  EXPECT_EQ(client.put("/api/v1/images/" + std::string(64, '1') + "/bytes?total=1", "", "x")->status, 501);
}

}  // namespace
}  // namespace fathom::query
