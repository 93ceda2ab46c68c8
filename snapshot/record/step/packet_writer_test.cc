#include "snapshot/record/step/packet_writer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace fathom::snapshot::step {
namespace {

struct Written {
  std::vector<uint8_t> bytes;
  PacketWriter writer{26,
                      [this](std::span<const uint8_t> some) { bytes.insert(bytes.end(), some.begin(), some.end()); }};
};

// Packets as a reader sees them, with instruction pointers uncompressed by the rules of Intel's manual.
std::vector<std::string> packets_of(std::vector<uint8_t> bytes) {
  pt_config config;
  pt_config_init(&config);
  config.begin = bytes.data();
  config.end = bytes.data() + bytes.size();
  pt_packet_decoder* decoder = pt_pkt_alloc_decoder(&config);
  std::vector<std::string> found;
  uint64_t last_ip = 0;
  pt_pkt_sync_forward(decoder);
  const auto ip_of = [&](const pt_packet& packet) {
    const uint64_t ip = packet.payload.ip.ip;
    switch (packet.payload.ip.ipc) {
      case pt_ipc_suppressed:
        return std::string("-");
      case pt_ipc_update_16:
        last_ip = (last_ip & ~uint64_t{0xffff}) | ip;
        break;
      case pt_ipc_update_32:
        last_ip = (last_ip & ~uint64_t{0xffffffff}) | ip;
        break;
      case pt_ipc_sext_48:
        last_ip = static_cast<uint64_t>(static_cast<int64_t>(ip << 16) >> 16);
        break;
      default:
        last_ip = ip;
    }
    char text[20];
    std::snprintf(text, sizeof text, "%lx", last_ip);
    return std::string(text);
  };
  for (pt_packet packet{}; pt_pkt_next(decoder, &packet, sizeof packet) > 0;) {
    switch (packet.type) {
      case ppt_psb:
        last_ip = 0;
        found.push_back("PSB");
        break;
      case ppt_tsc:
        found.push_back("TSC " + std::to_string(packet.payload.tsc.tsc));
        break;
      case ppt_cbr:
        found.push_back("CBR " + std::to_string(packet.payload.cbr.ratio));
        break;
      case ppt_cyc:
        found.push_back("CYC " + std::to_string(packet.payload.cyc.value));
        break;
      case ppt_mode:
        found.push_back("MODE");
        break;
      case ppt_psbend:
        found.push_back("PSBEND");
        break;
      case ppt_tnt_8: {
        std::string bits = "TNT ";
        for (int i = packet.payload.tnt.bit_size - 1; i >= 0; i--)
          bits += (packet.payload.tnt.payload >> i & 1) != 0 ? '!' : '.';
        found.push_back(bits);
        break;
      }
      case ppt_tip:
        found.push_back("TIP " + ip_of(packet));
        break;
      case ppt_fup:
        found.push_back("FUP " + ip_of(packet));
        break;
      case ppt_tip_pge:
        found.push_back("PGE " + ip_of(packet));
        break;
      case ppt_tip_pgd:
        found.push_back("PGD " + ip_of(packet));
        break;
      default:
        found.push_back("?");
    }
  }
  pt_pkt_free_decoder(decoder);
  return found;
}

using Packets = std::vector<std::string>;

TEST(PacketWriter, ASynchronisationPointSaysAllThatIsNeeded) {
  Written written;
  written.writer.synchronise(1000, nullptr);
  written.writer.enable(0x401000, 1000);
  const uint64_t ip = 0x401234;
  written.writer.synchronise(2000, &ip);
  written.writer.flush();
  EXPECT_EQ(packets_of(written.bytes), (Packets{"PSB", "TSC 1000", "CBR 26", "MODE", "PSBEND", "PGE 401000", "PSB",
                                                "TSC 2000", "CBR 26", "MODE", "FUP 401234", "PSBEND"}));
}

TEST(PacketWriter, BranchesGoOutBeforeWhatMustNotOvertakeThem) {
  Written written;
  written.writer.synchronise(1000, nullptr);
  written.writer.enable(0x401000, 1010);
  for (int i = 0; i < 8; i++) written.writer.branch(i % 2 == 0, 1100 + static_cast<uint64_t>(i));
  written.writer.target(0x402000, 1200);
  written.writer.branch(true, 1300);
  written.writer.disable(1300);
  written.writer.enable(0x402010, 9000);
  written.writer.interrupt(0x402020, 0x7f0000001000, 9000);
  written.writer.disable_at(0x7f0000001008, 9005);
  written.writer.flush();
  const Packets found = packets_of(written.bytes);
  EXPECT_EQ(Packets(found.begin() + 5, found.end()),
            (Packets{"CYC 10", "PGE 401000", "CYC 95", "TNT !.!.!.", "CYC 2", "TNT !.", "CYC 93", "TIP 402000",
                     "CYC 100", "TNT !", "PGD -", "CYC 7700", "PGE 402010", "FUP 402020", "TIP 7f0000001000", "CYC 5",
                     "FUP 7f0000001008", "PGD -"}));
}

TEST(PacketWriter, AddressesNeedNoMoreBytesThanTheirDifference) {
  const auto bytes_for = [](uint64_t before, uint64_t ip) {
    Written written;
    written.writer.synchronise(1000, nullptr);
    written.writer.enable(before, 1000);
    const uint64_t at = written.writer.bytes();
    written.writer.target(ip, 1000);
    return written.writer.bytes() - at;
  };
  EXPECT_EQ(bytes_for(0x7f1234567890, 0x7f1234561111), 3U);
  EXPECT_EQ(bytes_for(0x7f1234567890, 0x7f1299991111), 5U);
  EXPECT_EQ(bytes_for(0x7f1234567890, 0x401000), 7U);
  EXPECT_EQ(bytes_for(0x401000, 0xffffffff81000000), 7U);
  EXPECT_EQ(bytes_for(0x401000, 0x8000000000000000), 9U);
}

// Whatever comes, a reader sees what was written, and bytes() counts them, also beyond the buffer.
TEST(PacketWriter, LongStreamsOfAnything) {
  std::mt19937_64 random(5);
  Written written;
  written.writer.synchronise(1, nullptr);
  Packets expected;
  uint64_t tsc = 1;
  for (int i = 0; i < 50'000; i++) {
    tsc += 1 + random() % 100'000;
    const uint64_t ip = (random() % 2 != 0 ? 0x7f0000000000 : 0x400000) + random() % 0x100000;
    char text[20];
    std::snprintf(text, sizeof text, "TIP %lx", ip);
    written.writer.target(ip, tsc);
    expected.emplace_back(text);
  }
  written.writer.flush();
  EXPECT_EQ(written.bytes.size(), written.writer.bytes());
  Packets found = packets_of(written.bytes);
  std::erase_if(found, [](const std::string& packet) { return !packet.starts_with("TIP"); });
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace fathom::snapshot::step
