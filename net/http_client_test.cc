#include "net/http_client.h"

#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <thread>

#include "net/address.h"
#include "net/http_server.h"
#include "net/testing/scripted_handler.h"

namespace fathom::net {
namespace {

struct Running {
  std::shared_ptr<testing::ScriptedHandler> handler = std::make_shared<testing::ScriptedHandler>();
  HttpServer server;
  std::string address;
  explicit Running(HttpServerOptions options = {}) : server(options, handler) {
    auto bound = server.start();
    EXPECT_TRUE(bound.ok());
    if (bound.ok()) address = *bound;
  }
};

TEST(HttpClient, GetsAndPostsOverOneConnection) {
  Running up({.max_connections = 1});
  HttpClient client("http://" + up.address + "/");
  for (int i = 0; i < 3; ++i) {
    auto got = client.get("/x?y=" + percent_encode("a b&c"));
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_EQ(got->body, "GET /x\ny=a b&c\n");
    auto posted = client.post("/p", "text/plain", "hello", {{"X-Any", "thing"}});
    ASSERT_TRUE(posted.ok()) << posted.error().message;
    EXPECT_EQ(posted->body, "POST /p\nhello");
    EXPECT_EQ(posted->headers.front(), std::pair(std::string("content-type"), std::string("text/plain")));
  }
}

TEST(HttpClient, ReadsARefusalThatCameBeforeTheBodyWasTaken) {
  Running up;
  HttpClient client(up.address);
  auto reply = client.post("/refused", "text/plain", std::string(8'000'000, 'x'));
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply->status, 403);
  EXPECT_EQ(client.get("/again")->status, 200);
}

TEST(HttpClient, ConnectsAgainWhenTheServerWasReplaced) {
  auto first = std::make_unique<Running>();
  std::string address = first->address;
  HttpClient client(address);
  EXPECT_EQ(client.get("/")->status, 200);
  first.reset();
  auto gone = client.get("/");
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(gone.error().message.find(address), std::string::npos);
  Running second({.address = address});
  EXPECT_EQ(client.get("/")->status, 200);
}

TEST(HttpClient, GivesUpInTime) {
  Running up;
  HttpClient client(up.address, 50'000'000);
  auto reply = client.get("/held");
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::kDeadline);
}

// What an HTTP/2 server says first: an empty frame of settings.
TEST(HttpClient, AnotherProtocolIsNoSilence) {
  using boost::asio::ip::tcp;
  boost::asio::io_context context;
  tcp::acceptor acceptor(context, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
  std::thread stranger([&] {
    tcp::socket socket = acceptor.accept();
    boost::asio::write(socket, boost::asio::buffer("\0\0\0\4\0\0\0\0\0", 9));
    char request[512];
    boost::system::error_code ignored;
    while (socket.read_some(boost::asio::buffer(request), ignored) > 0) {
    }
  });
  auto reply = HttpClient(endpoint_text(acceptor.local_endpoint())).get("/");
  stranger.join();
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::kCorrupt) << reply.error().message;
}

TEST(HttpClient, RefusesWhatIsNoAddress) {
  EXPECT_EQ(HttpClient("ftp://127.0.0.1:1").get("/").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(HttpClient("127.0.0.1:port").get("/").error().code, ErrorCode::kInvalid);
}

TEST(HttpClient, HttpsIsAnAddressThatNobodyAnswersAt) {
  EXPECT_EQ(HttpClient("https://127.0.0.1:1").get("/").error().code, ErrorCode::kUnavailable);
}

TEST(PercentEncode, KeepsOnlyWhatIsSafe) {
  EXPECT_EQ(percent_encode("aZ9-._~/ =\xc3\xa9"), "aZ9-._~%2f%20%3d%c3%a9");
}

}  // namespace
}  // namespace fathom::net
