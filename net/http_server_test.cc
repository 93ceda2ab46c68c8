#include "net/http_server.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <future>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "base/time.h"
#include "net/http_client.h"
#include "net/testing/http_server_fixture.h"
#include "net/testing/raw_client.h"

namespace fathom::net {
namespace {

using testing::body_of;
using testing::HttpServerTest;
using testing::RawClient;
using testing::refused;
using testing::status_of;

TEST_F(HttpServerTest, AnswersWithDecodedPathAndParameters) {
  start();
  std::string answer =
      exchange("GET /a%20b?x=1%2B1&x=a+b&empty HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_EQ(body_of(answer), "GET /a b\nx=1+1\nx=a b\nempty=\n");
}

TEST_F(HttpServerTest, KeepsAConnectionForPipelinedRequests) {
  start();
  RawClient client = connect();
  client.send("POST /1 HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc\r\nGET /2 HTTP/1.1\r\n\r\nGET /3 HTTP/1.1\r\n\r\n");
  EXPECT_EQ(body_of(client.read_answer()), "POST /1\nabc");
  EXPECT_EQ(body_of(client.read_answer()), "GET /2\n");
  EXPECT_EQ(body_of(client.read_answer()), "GET /3\n");
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrderThoughTheSecondComesWhileTheFirstIsHandled) {
  start();
  RawClient client = connect();
  client.send("GET /held HTTP/1.1\r\n\r\n");
  auto [request, respond] = handler_->take_held();
  client.send("GET /second HTTP/1.1\r\n\r\n");
  respond({.body = "first"});
  EXPECT_EQ(body_of(client.read_answer()), "first");
  EXPECT_EQ(body_of(client.read_answer()), "GET /second\n");
}

TEST_F(HttpServerTest, ClosesAfterHttp10UnlessAskedToStay) {
  start();
  RawClient closing = connect();
  closing.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_NE(closing.read_all().find("Connection: close"), std::string::npos);
  RawClient staying = connect();
  staying.send("GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_NE(staying.read_answer().find("Connection: keep-alive"), std::string::npos);
  staying.send("GET /2 HTTP/1.0\r\n\r\n");
  EXPECT_EQ(body_of(staying.read_answer()), "GET /2\n");
}

TEST_F(HttpServerTest, HeadHasTheLengthAndNoBody) {
  start();
  RawClient client = connect();
  client.send("HEAD /abc HTTP/1.1\r\n\r\nGET /x HTTP/1.1\r\n\r\n");
  std::string head = client.read_answer(false);
  EXPECT_NE(head.find("Content-Length: 10\r\n"), std::string::npos) << head;
  EXPECT_EQ(body_of(client.read_answer()), "GET /x\n");
}

TEST_F(HttpServerTest, ReadsChunkedBodiesAndAsksForTheirMemory) {
  start();
  std::string answer = exchange(
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nTrailer: t\r\n\r\n");
  EXPECT_EQ(body_of(answer), "POST /\nhello world");
  EXPECT_GE(handler_->granted.load(), 11u);
}

TEST_F(HttpServerTest, RefusesAChunkedBodyThatFindsNoMemory) {
  handler_->body_allowance = 128 * 1024;
  start();
  uint64_t before = refused("memory");
  RawClient client = connect();
  client.send("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n40000\r\n" + std::string(0x40000, 'x') + "\r\n");
  std::string answer = client.read_all();
  EXPECT_EQ(status_of(answer), 503);
  EXPECT_NE(answer.find("Retry-After: "), std::string::npos);
  EXPECT_EQ(refused("memory"), before + 1);
}

TEST_F(HttpServerTest, KeepsTheHandlersOwnRetryAfter) {
  handler_->body_allowance = 0;
  handler_->explained_retry_after = "7";
  start();
  for (std::string_view body :
       {"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "Content-Length: 3\r\n\r\nabc"}) {
    std::string answer = exchange("POST / HTTP/1.1\r\n" + std::string(body));
    EXPECT_EQ(status_of(answer), 503);
    EXPECT_NE(answer.find("retry-after: 7\r\n"), std::string::npos) << answer;
    EXPECT_EQ(answer.find("Retry-After: "), std::string::npos) << answer;
  }
}

TEST_F(HttpServerTest, AsksForTheMemoryOfABodyAsItComes) {
  start();
  RawClient client = connect();
  client.send("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n");
  client.read_until("\r\n\r\n");
  EXPECT_EQ(handler_->granted.load(), 0u);
  client.send(std::string(1'000'000, 'x') + "GET /held HTTP/1.1\r\n\r\n");
  EXPECT_EQ(body_of(client.read_answer()).size(), 7u + 1'000'000);
  EXPECT_EQ(handler_->granted.load(), 1'000'000u) << "and not for the request behind it";
  handler_->take_held();
}

TEST_F(HttpServerTest, RefusesABodyOfKnownLengthThatFindsNoMemory) {
  handler_->body_allowance = 128 * 1024;
  start();
  uint64_t before = refused("memory");
  RawClient client = connect();
  client.send("POST / HTTP/1.1\r\nContent-Length: 500000\r\n\r\n" + std::string(200'000, 'x'));
  EXPECT_EQ(status_of(client.read_answer()), 503);
  EXPECT_EQ(refused("memory"), before + 1);
}

TEST_F(HttpServerTest, RefusesBodiesBeyondTheLimit) {
  start();
  uint64_t before = refused("body_too_large");
  EXPECT_EQ(status_of(exchange("POST / HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n")), 413);
  std::string chunk = "80000\r\n" + std::string(0x80000, 'x') + "\r\n";
  EXPECT_EQ(status_of(exchange("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + chunk + chunk)), 413);
  EXPECT_EQ(refused("body_too_large"), before + 2);
}

TEST_F(HttpServerTest, ARefusalIsReadByAClientThatSendsEverythingFirst) {
  start();
  uint64_t before = refused("not_admitted");
  RawClient client = connect();
  client.send("POST /refused HTTP/1.1\r\nContent-Length: 900000\r\n\r\n" + std::string(900'000, 'x'));
  std::string answer = client.read_answer();
  EXPECT_EQ(status_of(answer), 403);
  EXPECT_NE(answer.find("not you"), std::string::npos);
  EXPECT_EQ(refused("not_admitted"), before + 1);
}

TEST_F(HttpServerTest, SaysContinueToThoseWhoWait) {
  start();
  RawClient client = connect();
  client.send("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("ok");
  EXPECT_EQ(body_of(client.read_answer()), "POST /\nok");
  EXPECT_EQ(status_of(exchange("POST /refused HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")), 403);
  EXPECT_EQ(status_of(exchange("POST / HTTP/1.1\r\nExpect: miracles\r\nContent-Length: 2\r\n\r\n")), 417);
}

TEST_F(HttpServerTest, RefusesWhatIsNotHttp) {
  start();
  for (std::string_view bad :
       {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET / HTTP/1.1\r\nbad header\r\n\r\n", "GET /%zz HTTP/1.1\r\n\r\n", "GET nowhere HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    uint64_t before = refused("malformed");
    EXPECT_EQ(status_of(exchange(bad)), 400) << bad;
    EXPECT_EQ(refused("malformed"), before + 1) << bad;
  }
  EXPECT_EQ(status_of(exchange("POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n")), 501);
  EXPECT_EQ(status_of(exchange("GET / HTTP/1.1\r\n\r\n")), 200);
}

TEST_F(HttpServerTest, TruncatedAndRandomInputDisturbsNobody) {
  start();
  RawClient steady = connect();
  std::string whole = "POST /x?y=z HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(status_of(exchange(whole.substr(0, size))), 200) << size;
  }
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::string noise = whole;
    for (int i = 0; i < 3; ++i) noise[random() % noise.size()] = static_cast<char>(random());
    exchange(round % 2 ? noise : noise.substr(random() % noise.size()));
  }
  steady.send(whole);
  EXPECT_EQ(body_of(steady.read_answer()), "POST /x\ny=z\nabc");
}

TEST_F(HttpServerTest, SaysThatARequestEndedTooEarlyAndCountsIt) {
  start();
  for (std::string_view cut :
       {"G", "GET / HTTP/1.1\r\nHost: localhost\r\n", "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n{}",
        "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n"}) {
    uint64_t before = refused("cut_off");
    std::string answer = exchange(cut);
    EXPECT_EQ(status_of(answer), 400) << cut;
    EXPECT_NE(body_of(answer).find("the request ended too early"), std::string::npos) << answer;
    EXPECT_EQ(refused("cut_off"), before + 1) << cut;
  }
  uint64_t before = refused("cut_off");
  EXPECT_EQ(exchange(""), "");
  EXPECT_EQ(exchange("\r\n"), "");
  EXPECT_EQ(status_of(exchange("GET / HTTP/1.1\r\n\r\n")), 200);
  EXPECT_EQ(refused("cut_off"), before) << "nothing had begun";
}

TEST_F(HttpServerTest, CountsRequestsWhosePeerResetTheConnection) {
  start();
  uint64_t before = refused("cut_off");
  RawClient header = connect();
  header.send("GET / HTTP/1.1\r\n\r\nPOST / HTTP/1.1\r\nContent-Le");
  header.read_answer();  // so that the second request has been read: a reset throws away what has not
  RawClient body = connect();
  body.send("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n");
  body.read_until("\r\n\r\n");
  header.reset();
  body.reset();
  while (refused("cut_off") < before + 2) std::this_thread::yield();
}

TEST_F(HttpServerTest, BoundsHeadersAndChunkHeaders) {
  start();
  uint64_t before = refused("header_too_large");
  EXPECT_EQ(status_of(exchange("GET / HTTP/1.1\r\nx: " + std::string(70'000, 'y') + "\r\n\r\n")), 431);
  EXPECT_EQ(refused("header_too_large"), before + 1);
  EXPECT_EQ(status_of(exchange("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;" + std::string(200'000, 'y'))),
            400);
}

TEST_F(HttpServerTest, CutsOffASlowHeader) {
  start({.header_timeout_nano = 50'000'000});
  uint64_t before = refused("header_timeout");
  RawClient client = connect();
  client.send("GET / HTTP/1.1\r\nx: ");
  EXPECT_EQ(status_of(client.read_all()), 408);
  EXPECT_EQ(refused("header_timeout"), before + 1);
}

TEST_F(HttpServerTest, CutsOffASlowBodyThoughItKeepsComing) {
  start({.header_timeout_nano = 50'000'000, .body_min_bytes_per_s = 100'000});
  uint64_t before = refused("body_timeout");
  RawClient client = connect();
  client.send("POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n");
  std::thread dripping([&client] {
    while (client.send("x")) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  EXPECT_EQ(status_of(client.read_answer()), 408);
  EXPECT_EQ(refused("body_timeout"), before + 1);
  server_->stop(0);
  dripping.join();
}

TEST_F(HttpServerTest, CutsOffABodyThatStallsThoughItWasFast) {
  start({.body_min_bytes_per_s = 1, .large_body_min_bytes_per_s = 1, .body_stall_timeout_nano = 50'000'000});
  uint64_t before = refused("body_timeout");
  RawClient client = connect();
  client.send("POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n" + std::string(90'000, 'x'));
  EXPECT_EQ(status_of(client.read_answer()), 408);
  EXPECT_EQ(refused("body_timeout"), before + 1);
}

TEST(BodyAllowance, LargeBodiesMustBeFast) {
  HttpServerOptions options;
  uint64_t grace = options.header_timeout_nano;
  EXPECT_EQ(body_allowance_nano(options, 0), grace);
  EXPECT_EQ(body_allowance_nano(options, 1024), grace + kNanosPerSecond);
  EXPECT_EQ(body_allowance_nano(options, (64 + 128) << 10), grace + 65 * kNanosPerSecond);
  EXPECT_LT(body_allowance_nano(options, 64 << 20), 10 * kNanosPerMinute);
}

TEST_F(HttpServerTest, CutsOffASlowReader) {
  start({.header_timeout_nano = 50'000'000,
         .body_min_bytes_per_s = 1'000'000'000,
         .large_body_min_bytes_per_s = 1'000'000'000});
  uint64_t before = refused("reader_too_slow");
  RawClient client = connect();
  client.send("GET /large HTTP/1.1\r\n\r\n");
  while (refused("reader_too_slow") == before) std::this_thread::yield();
  EXPECT_LT(client.read_all().size(), handler_->large_bytes);
}

TEST_F(HttpServerTest, LargeAnswersMustBeReadFaster) {
  // At the small answers' pace what fits the sockets' buffers alone would earn most of a minute.
  start({.header_timeout_nano = 50'000'000, .body_min_bytes_per_s = 64 * 1024, .large_body_min_bytes_per_s = 1 << 30});
  uint64_t before = refused("reader_too_slow");
  uint64_t begin = now_monotonic_nano();
  RawClient client = connect();
  client.send("GET /large HTTP/1.1\r\n\r\n");
  while (refused("reader_too_slow") == before) std::this_thread::yield();
  EXPECT_LT(now_monotonic_nano() - begin, 20 * kNanosPerSecond);
}

TEST_F(HttpServerTest, LargeAnswersTakeTheirMemoryFromABudgetUntilTheyAreRead) {
  auto budget = std::make_shared<ByteBudget>(handler_->large_bytes + 1000);
  start({.answers = budget});
  uint64_t before = refused("answer_memory");
  RawClient slow = connect();
  slow.send("GET /large HTTP/1.1\r\n\r\n");
  while (budget->used() == 0) std::this_thread::yield();
  EXPECT_EQ(budget->used(), handler_->large_bytes);
  std::string answer = exchange("GET /large HTTP/1.1\r\n\r\n");
  EXPECT_EQ(status_of(answer), 503);
  EXPECT_NE(answer.find("Retry-After: "), std::string::npos) << answer;
  EXPECT_EQ(refused("answer_memory"), before + 1);
  EXPECT_EQ(status_of(exchange("GET / HTTP/1.1\r\n\r\n")), 200) << "small answers are always given";
  EXPECT_EQ(body_of(slow.read_answer()).size(), handler_->large_bytes);
  while (budget->used() > 0) std::this_thread::yield();
  RawClient gone = connect();
  gone.send("GET /large HTTP/1.1\r\n\r\n");
  while (budget->used() == 0) std::this_thread::yield();
  gone.reset();
  while (budget->used() > 0) std::this_thread::yield();
}

TEST_F(HttpServerTest, AnAnswerThatNeverFitsTheBudgetIsTooLarge) {
  start({.answers = std::make_shared<ByteBudget>(handler_->large_bytes - 1)});
  uint64_t before = refused("answer_memory");
  EXPECT_EQ(status_of(exchange("GET /large HTTP/1.1\r\n\r\n")), 413);
  EXPECT_EQ(refused("answer_memory"), before + 1);
}

TEST_F(HttpServerTest, SendsLargeAnswersWhole) {
  start();
  EXPECT_EQ(body_of(exchange("GET /large HTTP/1.1\r\nConnection: close\r\n\r\n")).size(), handler_->large_bytes);
}

TEST_F(HttpServerTest, IdleConnectionsEnd) {
  start({.idle_timeout_nano = 50'000'000});
  EXPECT_EQ(connect().read_all(), "");
  RawClient used = connect();
  used.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(body_of(used.read_all()), "GET /\n");
}

TEST_F(HttpServerTest, AThousandIdleConnectionsDisturbNobody) {
  start();
  std::vector<RawClient> idle;
  for (int i = 0; i < 1000; ++i) {
    idle.push_back(connect());
    ASSERT_TRUE(idle.back().connected()) << i;
  }
  EXPECT_EQ(status_of(exchange("GET / HTTP/1.1\r\n\r\n")), 200);
  for (RawClient& client : idle) client.send("GET /still HTTP/1.1\r\n\r\n");
  for (RawClient& client : idle) ASSERT_EQ(body_of(client.read_answer()), "GET /still\n");
}

TEST_F(HttpServerTest, TurnsAwayConnectionsBeyondTheLimit) {
  start({.max_connections = 1});
  uint64_t before = refused("too_many_connections");
  RawClient first = connect();
  first.send("GET / HTTP/1.1\r\n\r\n");
  first.read_answer();
  EXPECT_EQ(status_of(connect().read_all()), 503);
  EXPECT_EQ(refused("too_many_connections"), before + 1);
  first.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(status_of(first.read_answer()), 200);
}

// The process may open files again when it is destroyed.
class OneMoreFile {
 public:
  OneMoreFile() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    int lowest = ::dup(STDERR_FILENO);
    ::close(lowest);
    rlimit tight{.rlim_cur = static_cast<rlim_t>(lowest) + 1, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &tight);
  }
  ~OneMoreFile() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(HttpServerTest, WithoutFileDescriptorsConnectionsWaitAndAreCounted) {
  start();
  // An answer proves that the server's thread has started: a thread's first allocation opens a file of its own.
  RawClient first = connect();
  first.send("GET / HTTP/1.1\r\n\r\n");
  ASSERT_EQ(status_of(first.read_answer()), 200);
  uint64_t before = refused("accept_failed");
  std::optional<OneMoreFile> limit(std::in_place);
  RawClient client(address_);  // takes the last one, so there is none for the server's side
  ASSERT_TRUE(client.connected());
  while (refused("accept_failed") == before) std::this_thread::yield();
  limit.reset();
  client.send("GET /late HTTP/1.1\r\n\r\n");
  EXPECT_EQ(body_of(client.read_answer()), "GET /late\n");
}

TEST_F(HttpServerTest, APeerThatGoesAwayCancelsItsRequest) {
  start();
  for (bool abruptly : {false, true}) {
    RawClient client = connect();
    client.send("GET /held HTTP/1.1\r\n\r\n");
    auto [request, respond] = handler_->take_held();
    std::promise<void> told;
    request.cancel->on_raise([&told] { told.set_value(); });
    EXPECT_FALSE(request.cancelled->load());
    abruptly ? client.reset() : client.finish_sending();
    told.get_future().wait();
    EXPECT_TRUE(request.cancelled->load());
    respond({.body = "late"});
    if (!abruptly) {
      EXPECT_EQ(body_of(client.read_all()), "late");
    }
  }
}

TEST_F(HttpServerTest, APeerThatOnlyClosedItsSendingSideIsAnswered) {
  start();
  RawClient client = connect();
  client.send("GET /held HTTP/1.1\r\n\r\nGET /cut");
  client.finish_sending();
  auto [request, respond] = handler_->take_held();
  respond({.body = "soon"});
  EXPECT_EQ(body_of(client.read_answer()), "soon");
}

TEST_F(HttpServerTest, ADroppedRequestIsAnswered) {
  start();
  EXPECT_EQ(status_of(exchange("GET /dropped HTTP/1.1\r\n\r\n")), 500);
}

TEST_F(HttpServerTest, StopLetsAnswersUnderWayFinish) {
  start();
  RawClient idle = connect();
  RawClient client = connect();
  client.send("GET /held HTTP/1.1\r\n\r\n");
  auto held = handler_->take_held();
  std::thread stopping([this] { server_->stop(20'000'000'000); });
  EXPECT_EQ(idle.read_all(), "");  // closed by stop(), so that stop() is known to be under way
  held.second({.body = "done"});
  EXPECT_EQ(body_of(client.read_all()), "done");
  client.finish_sending();
  stopping.join();
  EXPECT_FALSE(connect().connected());
}

TEST_F(HttpServerTest, AnswersAfterStopAndAfterTheServerGoNowhere) {
  start();
  RawClient first = connect();
  RawClient second = connect();
  first.send("GET /held HTTP/1.1\r\n\r\n");
  second.send("GET /held HTTP/1.1\r\n\r\n");
  auto held = handler_->take_held();
  auto other = handler_->take_held();
  server_->stop(0);
  EXPECT_TRUE(held.first.cancelled->load());
  held.second({.body = "too late"});
  server_.reset();
  other.second({.body = "far too late"});
  other.second({.body = "twice"});
  EXPECT_EQ(first.read_all() + second.read_all(), "");
}

TEST_F(HttpServerTest, APortInUseIsNamed) {
  start();
  HttpServer second({.listener = "test", .address = address_}, handler_);
  auto bound = second.start();
  ASSERT_FALSE(bound.ok());
  EXPECT_NE(bound.error().message.find(address_), std::string::npos);
  EXPECT_NE(bound.error().message.find("another program has this port"), std::string::npos);
}

TEST(SplitAddress, TakesHostsAndRefusesGuesses) {
  EXPECT_EQ(*split_address("127.0.0.1:4318"), std::pair(std::string("127.0.0.1"), uint16_t{4318}));
  EXPECT_EQ(*split_address("[::1]:0"), std::pair(std::string("::1"), uint16_t{0}));
  EXPECT_EQ(split_address("localhost:80")->first, "localhost");
  for (const char* bad : {"", "host", ":80", "host:", "host:x", "host:70000", "::1:80", "host:-1", "[]:1"}) {
    EXPECT_FALSE(split_address(bad).ok()) << bad;
  }
}

TEST_F(HttpServerTest, ManyThreadsOfClientsAndServer) {
  start({.threads = 2});
  std::vector<std::thread> clients;
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([this, &good] {
      HttpClient client(address_);
      for (int n = 0; n < 200; ++n) {
        auto reply = client.post("/p", "text/plain", "body" + std::to_string(n));
        if (reply.ok() && reply->body == "POST /p\nbody" + std::to_string(n)) ++good;
      }
    });
  }
  for (auto& client : clients) client.join();
  EXPECT_EQ(good.load(), 8 * 200);
}

}  // namespace
}  // namespace fathom::net
