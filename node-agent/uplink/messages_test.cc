#include "node-agent/uplink/messages.h"

#include <gtest/gtest.h>

#include "base/ids.h"
#include "ingest.pb.h"

namespace fathom::agent {
namespace {

namespace wire = fathom::ingest::v1;

TEST(Messages, ABatchIsItsHeadAndItsBytes) {
  std::array<uint8_t, 16> identity;
  identity.fill(0xab);
  for (size_t size : {size_t{0}, size_t{1}, size_t{127}, size_t{128}, size_t{70'000}}) {
    for (std::optional<ClockOffset> clock : {std::optional<ClockOffset>(), std::optional(ClockOffset{-5, 1u << 31})}) {
      std::string otlp(size, 'x');
      wire::AgentMessage message;
      ASSERT_TRUE(message.ParseFromString(batch_head(300, identity, clock, size) + otlp));
      ASSERT_TRUE(message.has_batch());
      EXPECT_EQ(message.batch().sequence(), 300u);
      EXPECT_EQ(message.batch().identity(), std::string(16, '\xab'));
      EXPECT_EQ(message.batch().otlp(), otlp);
      ASSERT_EQ(message.batch().has_clock(), clock.has_value());
      if (!clock) continue;
      EXPECT_EQ(message.batch().clock().offset_nano(), -5);
      EXPECT_EQ(message.batch().clock().error_nano(), 1u << 31);
    }
  }
}

// The bytes of version 1.
TEST(Messages, ABatchesHeadIsThis) {
  std::array<uint8_t, 16> identity;
  identity.fill(0x11);
  EXPECT_EQ(to_hex(batch_head(2, identity, ClockOffset{-1, 300}, 5)),
            "1222080212101111111111111111111111111111111" + std::string("11a05080110ac022205"));
}

TEST(Messages, WhatTheCollectorSays) {
  wire::CollectorMessage message;
  message.mutable_ack()->set_sequence(3);
  message.mutable_ack()->set_outcome(wire::Ack::REFUSED);
  message.mutable_ack()->set_message("why");
  auto words = parse_collector_message(message.SerializeAsString());
  ASSERT_TRUE(words && words->ack);
  EXPECT_EQ(words->ack->outcome, LinkAck::Outcome::kRefused);
  EXPECT_EQ(words->ack->message, "why");
  message.mutable_ack()->set_outcome(static_cast<wire::Ack::Outcome>(17));
  words = parse_collector_message(message.SerializeAsString());
  EXPECT_EQ(words->ack->outcome, LinkAck::Outcome::kRetry) << "what a later version says must not drop anything";
  EXPECT_FALSE(parse_collector_message("\xff\xff"));
  EXPECT_TRUE(parse_collector_message(""));
}

}  // namespace
}  // namespace fathom::agent
