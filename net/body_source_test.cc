// Answers whose bodies are made while they are read.
#include "net/body_source.h"

#include "net/gzip.h"
#include "net/http_client.h"
#include "net/testing/http_server_fixture.h"

namespace fathom::net::testing {
namespace {

using BodySourceTest = HttpServerTest;

TEST(ChunkOf, WritesSizesInHexadecimalAndAnEnd) {
  EXPECT_EQ(chunk_of({std::string(26, 'x'), false}), "1a\r\n" + std::string(26, 'x') + "\r\n");
  EXPECT_EQ(chunk_of({"y", true}), "1\r\ny\r\n0\r\n\r\n");
  EXPECT_EQ(chunk_of({"", false}), "");
  EXPECT_EQ(chunk_of({"", true}), "0\r\n\r\n");
}

TEST_F(BodySourceTest, PiecesComeAsOneBodyAndTheConnectionIsKept) {
  start();
  HttpClient client(address_);
  for (int i = 0; i < 2; ++i) {
    auto reply = client.get("/pieces?count=3&bytes=70000");
    ASSERT_TRUE(reply.ok()) << reply.error().message;
    EXPECT_EQ(reply->body, "0" + std::string(70000, 'c') + std::string(70000, 'b') + std::string(70000, 'a'));
  }
  EXPECT_EQ(handler_->sources_gone, 2u);
}

TEST_F(BodySourceTest, AClientOfHttp10ReadsUntilTheEnd) {
  start();
  const std::string answer = exchange("GET /pieces?count=2&bytes=3 HTTP/1.0\r\n\r\n");
  EXPECT_EQ(answer.find("Transfer-Encoding"), std::string::npos);
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n0bbbaaa")) << answer;
}

TEST_F(BodySourceTest, AMissingPieceLeavesTheBodyWithoutItsEnd) {
  start();
  auto reply = HttpClient(address_).get("/pieces?count=3&bytes=10&fail");
  EXPECT_FALSE(reply.ok());
  EXPECT_EQ(handler_->pieces_made, 3u);
}

TEST_F(BodySourceTest, HeadAsksForNoPiece) {
  start();
  const std::string answer = exchange("HEAD /pieces?count=3 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
  EXPECT_EQ(handler_->pieces_made, 0u);
}

// A piece is made when the one before has gone to the socket: a peer that reads nothing gets what its buffers take.
TEST_F(BodySourceTest, AReaderThatStopsGetsNoMorePieces) {
  start();
  RawClient client = connect();
  client.send("GET /pieces?count=100000&bytes=65536 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  while (handler_->pieces_made == 0) std::this_thread::yield();
  uint64_t made = 0;
  do {
    made = handler_->pieces_made;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  } while (made != handler_->pieces_made);
  EXPECT_LT(made, 1000u);  // 64 MiB; 6 GiB were asked for
  server_.reset();
  EXPECT_EQ(handler_->sources_gone, 1u);
}

TEST_F(BodySourceTest, WhatASourceHoldsCountsAsMemoryOfAnswers) {
  HttpServerOptions options;
  options.answers = std::make_shared<ByteBudget>(100'000);
  start(options);
  const uint64_t before = refused("answer_memory");
  HttpClient client(address_);
  EXPECT_EQ(client.get("/pieces?held=90000")->status, 200);
  EXPECT_EQ(client.get("/pieces?held=110000")->status, 413);
  EXPECT_EQ(refused("answer_memory"), before + 1);
  EXPECT_EQ(client.get("/pieces?held=90000")->status, 200);
}

TEST(GzipStream, PiecesUnpackToTheWhole) {
  GzipStream stream(1);
  std::string packed, whole;
  for (int i = 0; i < 100; ++i) {
    const std::string piece(static_cast<size_t>(i) * 1000, static_cast<char>('a' + i % 26));
    whole += piece;
    packed += stream.add(piece, i == 99);
  }
  EXPECT_EQ(*gunzip(packed, whole.size(), nullptr), whole);
  EXPECT_LT(packed.size(), whole.size() / 50);
}

}  // namespace
}  // namespace fathom::net::testing
