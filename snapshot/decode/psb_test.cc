#include "snapshot/decode/psb.h"

#include <gtest/gtest.h>

#include <string>

#include "snapshot/decode/testing/stream_builder.h"

namespace fathom::snapshot {
namespace {

std::string psb_packet() {
  std::string bytes;
  for (int pair = 0; pair < 8; ++pair) bytes += "\x02\x82";
  return bytes;
}

using namespace std::string_literals;

TEST(PsbTest, IsFoundWhateverStandsBeforeIt) {
  const std::string end = "\x02\x23"s;
  EXPECT_EQ(find_psb(packet_span("abc" + psb_packet() + end), 0), 3u);
  EXPECT_EQ(find_psb(packet_span("abc" + psb_packet() + end), 3), 3u);
  EXPECT_EQ(find_psb(packet_span("abc" + psb_packet() + end), 4), 21u) << "none";
  EXPECT_EQ(find_psb(packet_span("\x02\x82" + psb_packet() + end), 0), 2u) << "payload that looks like its beginning";
  EXPECT_EQ(find_psb(packet_span(psb_packet().substr(0, 15)), 0), 15u);
  EXPECT_EQ(find_psb(packet_span(psb_packet()), 0), 0u);
  EXPECT_EQ(find_psb({}, 0), 0u);
}

TEST(PsbTest, HeaderTellsPlaceAndTime) {
  const std::string tsc = "\x19\x01\x02\x03\x04\x05\x06\x07"s;
  const std::string fup = "\x7d\x00\x10\x40\x00\x00\x00"s;  // six bytes, extended by their sign
  const PsbHeader header = read_psb_header(packet_span(psb_packet() + tsc + fup + "\x02\x23"s));
  EXPECT_TRUE(header.complete);
  EXPECT_EQ(header.ip, 0x401000u);
  EXPECT_EQ(header.tsc, 0x07060504030201u);
  EXPECT_FALSE(read_psb_header(packet_span(psb_packet() + "\x02\x23"s)).ip);
  EXPECT_FALSE(read_psb_header(packet_span(psb_packet() + tsc + fup)).complete);
  const std::string kernel = "\x7d\x00\x00\x00\x81\xff\xff"s;
  EXPECT_EQ(read_psb_header(packet_span(psb_packet() + kernel + "\x02\x23"s)).ip, 0xffffffff81000000u);
}

}  // namespace
}  // namespace fathom::snapshot
