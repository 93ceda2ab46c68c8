// The agents' stream over gRPC, with gRPC's own client.
#include "collector/agents/ingest_server.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <thread>

#include <grpcpp/grpcpp.h>

#include "collector/collector.h"
#include "collector/testing/agent_peer.h"
#include "collector/testing/fake_store.h"
#include "collector/testing/requests.h"
#include "ingest.grpc.pb.h"
#include "ingest/limits.h"
#include "net/tokens.h"

namespace fathom::collector {
namespace {

using namespace testing;

std::shared_ptr<grpc::Channel> channel_to(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

// One agent's stream, spoken by hand.
class Peer {
 public:
  explicit Peer(const std::string& address, const std::string& token = "")
      : stub_(wire::Ingest::NewStub(channel_to(address))), stream_(stub_->Stream(with(token))) {}
  ~Peer() { context_.TryCancel(), finish(); }

  bool say(const wire::AgentMessage& message) { return stream_->Write(message); }
  wire::CollectorMessage hear() {
    wire::CollectorMessage message;
    stream_->Read(&message);
    return message;
  }
  // Greets, and returns the welcome.
  wire::Welcome greet(char node = 'n') {
    say(hello(node));
    return hear().welcome();
  }
  void say_no_more() { stream_->WritesDone(); }
  grpc::StatusCode finish() {
    if (!status_) status_ = stream_->Finish();
    return status_->error_code();
  }

 private:
  grpc::ClientContext* with(const std::string& token) {
    if (!token.empty()) context_.AddMetadata("authorization", "Bearer " + token);
    return &context_;
  }

  grpc::ClientContext context_;
  std::unique_ptr<wire::Ingest::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<wire::AgentMessage, wire::CollectorMessage>> stream_;
  std::optional<grpc::Status> status_;
};

class IngestServerTest : public ::testing::Test {
 protected:
  void start(CollectorOptions options = {}) {
    options.otlp_grpc_address = options.otlp_http_address = "";
    options.ingest_address = "127.0.0.1:0";
    options.nodes = nodes_;
    options.version = "7.0";
    collector_ = std::make_unique<Collector>(options, store_);
    Result<CollectorAddresses> addresses = collector_->start();
    ASSERT_TRUE(addresses.ok()) << addresses.error().message;
    address_ = addresses->ingest;
  }

  FakeStore store_;
  std::shared_ptr<NodeRegistry> nodes_ = std::make_shared<NodeRegistry>();
  std::unique_ptr<Collector> collector_;
  std::string address_;
  const std::string otlp_ = simple_request(1).SerializeAsString();
};

TEST_F(IngestServerTest, TakesBatches) {
  start();
  Peer peer(address_);
  EXPECT_EQ(peer.greet().collector_version(), "7.0");
  for (uint64_t sequence = 1; sequence <= 100; ++sequence) {
    ASSERT_TRUE(peer.say(batch(sequence, simple_request(5).SerializeAsString(), static_cast<char>(sequence))));
  }
  for (int i = 0; i < 100; ++i) EXPECT_EQ(peer.hear().ack().outcome(), wire::Ack::DURABLE);
  EXPECT_EQ(store_.spans(), 500u);
  EXPECT_TRUE(nodes_->nodes().at(0).connected);
  peer.say_no_more();
  EXPECT_EQ(peer.finish(), grpc::StatusCode::OK);
}

TEST_F(IngestServerTest, AStreamWhoseTokenIsRevokedEnds) {
  const std::string kept_token(32, 'k'), old_token(32, 'o');
  const std::string path = ::testing::TempDir() + "tokens-" + std::to_string(::getpid());
  std::ofstream(path) << kept_token << "\n" << old_token << "\n";
  auto tokens = net::Tokens::load(path);
  std::remove(path.c_str());
  ASSERT_TRUE(tokens.ok()) << tokens.error().message;
  start({.security = {.tls = nullptr, .tokens = *tokens}});
  Peer kept(address_, kept_token), old(address_, old_token);
  kept.greet('k');
  old.greet('o');
  const auto known = [](const std::string& token) {
    return net::Tokens::Known{sha256(token), "agent", net::Scopes::all()};
  };
  (*tokens)->use({known(old_token), known(kept_token)});
  ASSERT_TRUE(old.say(batch(1, otlp_)));
  EXPECT_EQ(old.hear().ack().outcome(), wire::Ack::DURABLE)
      << "of the same tokens in another order nobody is sent away";
  (*tokens)->use({known(kept_token)});
  EXPECT_EQ(old.finish(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Peer(address_, old_token).finish(), grpc::StatusCode::UNAUTHENTICATED);
  ASSERT_TRUE(kept.say(batch(1, otlp_, 'k')));
  EXPECT_EQ(kept.hear().ack().outcome(), wire::Ack::DURABLE);
}

TEST_F(IngestServerTest, TakesLargeBatchesInManySlices) {
  start();
  Peer peer(address_);
  peer.greet();
  std::string otlp = simple_request(10'000).SerializeAsString();
  ASSERT_GT(otlp.size(), 500'000u);
  ASSERT_TRUE(peer.say(batch(1, otlp)));
  EXPECT_EQ(peer.hear().ack().outcome(), wire::Ack::DURABLE);
  EXPECT_EQ(store_.spans(), 10'000u);
}

TEST_F(IngestServerTest, WelcomeSaysWhatTheBudgetCanTake) {
  start({.max_request_bytes = 100'000});
  EXPECT_EQ(Peer(address_).greet().max_batch_bytes(), SessionLimits().max_batch_bytes) << "a limit of OTLP";
  start({.budget_bytes = 8 << 20});
  EXPECT_EQ(Peer(address_).greet().max_batch_bytes(), 2u << 20);
  start({.budget_bytes = 100'000});
  EXPECT_EQ(Peer(address_).greet().max_batch_bytes(), ingest::kBatchBytesBeforeWelcome);
}

// The largest that an agent may have made before it was told a limit, of spans that are large when decoded.
TEST_F(IngestServerTest, TheSmallestBudgetTakesWhatAgentsMadeBeforeTheyWereWelcome) {
  start({.budget_bytes = kLeastBudgetBytes});
  Peer peer(address_);
  EXPECT_GE(peer.greet().max_batch_bytes(), ingest::kBatchBytesBeforeWelcome);
  Request request;
  auto* spans = request.add_resource_spans()->add_scope_spans();
  auto add = [spans] {
    auto& span = *spans->add_spans();
    span.set_trace_id(std::string(16, 't'));
    span.set_span_id(std::string(8, 's'));
    return span.ByteSizeLong() + 2;  // with its tag and its length
  };
  for (uint64_t bytes = 20; bytes + 100 < ingest::kBatchBytesBeforeWelcome;) bytes += add();
  ASSERT_GT(request.ByteSizeLong() + 200, ingest::kBatchBytesBeforeWelcome);
  ASSERT_LE(request.ByteSizeLong(), ingest::kBatchBytesBeforeWelcome);
  ASSERT_TRUE(peer.say(batch(1, request.SerializeAsString())));
  EXPECT_EQ(peer.hear().ack().outcome(), wire::Ack::DURABLE);
}

TEST_F(IngestServerTest, RulesAreKeptBySendingCodes) {
  start();
  {
    Peer peer(address_);
    peer.say(batch(1, ""));
    EXPECT_EQ(peer.finish(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  Peer peer(address_);
  peer.greet();
  store_.hold();
  uint64_t most = SessionLimits().max_unacknowledged_batches;
  for (uint64_t sequence = 1; sequence <= most + 1; ++sequence) peer.say(batch(sequence, otlp_));
  EXPECT_EQ(peer.finish(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  store_.release();
}

TEST_F(IngestServerTest, TheOlderStreamOfANodeIsAborted) {
  start();
  Peer older(address_);
  older.greet();
  Peer newer(address_);
  newer.greet();
  EXPECT_EQ(older.finish(), grpc::StatusCode::ABORTED);
  newer.say(probe(5));
  EXPECT_EQ(newer.hear().reply().probe_sent_unix_nano(), 5u);
}

TEST_F(IngestServerTest, WithoutMemoryBatchesAreAskedForLaterAndProbesAnswered) {
  start({.budget_bytes = 150'000, .retry_delay_nano = 9});
  Peer peer(address_);
  peer.greet();
  ASSERT_TRUE(peer.say(batch(1, simple_request(5000).SerializeAsString())));
  wire::Ack ack = peer.hear().ack();
  EXPECT_EQ(ack.sequence(), 1u);
  EXPECT_EQ(ack.outcome(), wire::Ack::RETRY);
  EXPECT_EQ(ack.retry_after_nano(), 9u);
  ASSERT_TRUE(peer.say(probe(5)));
  EXPECT_EQ(peer.hear().reply().probe_sent_unix_nano(), 5u);
  ASSERT_TRUE(peer.say(batch(2, otlp_)));
  EXPECT_EQ(peer.hear().ack().outcome(), wire::Ack::DURABLE);
}

TEST_F(IngestServerTest, StopsWithoutLosingWhatIsUnderWay) {
  start();
  Peer peer(address_);
  peer.greet();
  store_.hold();
  peer.say(batch(1, otlp_));
  store_.wait_for_batches(1);
  std::thread stopping([&] { collector_->stop(30 * kNanosPerSecond); });
  // Once the listener is gone, only the batch keeps the stream.
  while (Peer(address_).greet('m').max_batch_bytes() > 0) std::this_thread::yield();
  store_.release();
  EXPECT_EQ(peer.hear().ack().outcome(), wire::Ack::DURABLE);
  EXPECT_EQ(peer.finish(), grpc::StatusCode::UNAVAILABLE);
  stopping.join();
}

TEST_F(IngestServerTest, StopsThoughNobodyIsAnswered) {
  start();
  Peer peer(address_);
  peer.greet();
  store_.hold();
  peer.say(batch(1, otlp_));
  store_.wait_for_batches(1);
  collector_->stop(0);
  EXPECT_NE(peer.finish(), grpc::StatusCode::OK);
  store_.release();
}

TEST_F(IngestServerTest, WhoeverSaysNothingIsCutOff) {
  SessionContext context{std::make_shared<Ingest>(IngestOptions(), store_), nodes_, {}};
  IngestServer server({.address = "127.0.0.1:0", .hello_nano = 1}, context);
  Result<std::string> address = server.start();
  ASSERT_TRUE(address.ok());
  EXPECT_EQ(Peer(*address).finish(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(IngestServerTest, WhoeverCompletesNoMessageIsCutOff) {
  constexpr uint64_t kSilence = kNanosPerSecond * 3 / 2;
  SessionContext context{std::make_shared<Ingest>(IngestOptions(), store_), nodes_, {}};
  IngestServer server({.address = "127.0.0.1:0", .silence_nano = kSilence}, context);
  Result<std::string> address = server.start();
  ASSERT_TRUE(address.ok());
  uint64_t before = counted("fathom_ingest_streams_ended_total", "reason=\"silent\"");
  Peer speaks(*address);
  speaks.greet('s');
  Peer silent(*address);
  silent.greet('t');
  uint64_t begun = now_monotonic_nano();
  for (uint64_t i = 1; now_monotonic_nano() < begun + 2 * kSilence; ++i) {
    ASSERT_TRUE(speaks.say(probe(i)));
    ASSERT_EQ(speaks.hear().reply().probe_sent_unix_nano(), i) << "who speaks is not cut off";
  }
  EXPECT_EQ(silent.finish(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(counted("fathom_ingest_streams_ended_total", "reason=\"silent\""), before + 1);
}

TEST_F(IngestServerTest, StreamsAreCounted) {
  SessionContext context{std::make_shared<Ingest>(IngestOptions(), store_), nodes_, {}};
  IngestServer server({.address = "127.0.0.1:0", .max_streams = 1}, context);
  Result<std::string> address = server.start();
  ASSERT_TRUE(address.ok());
  uint64_t before = counted("fathom_ingest_streams_refused_total");
  Peer first(*address);
  first.greet();
  EXPECT_EQ(Peer(*address).finish(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(counted("fathom_ingest_streams_refused_total"), before + 1);
}

TEST_F(IngestServerTest, ATakenPortIsAnErrorThatNamesIt) {
  start();
  Collector other({.otlp_grpc_address = "", .otlp_http_address = "", .ingest_address = address_}, store_);
  Result<CollectorAddresses> addresses = other.start();
  ASSERT_FALSE(addresses.ok());
  EXPECT_NE(addresses.error().message.find(address_), std::string::npos);
}

}  // namespace
}  // namespace fathom::collector
