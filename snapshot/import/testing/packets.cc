#include "snapshot/import/testing/packets.h"

#include <intel-pt.h>

#include <cstdlib>
#include <memory>

namespace fathom::snapshot {
namespace {

const char* kind_of(pt_packet_type type) {
  switch (type) {
    case ppt_tnt_8:
    case ppt_tnt_64:
      return "TNT";
    case ppt_tip:
      return "TIP";
    case ppt_mtc:
      return "MTC";
    case ppt_pip:
      return "PIP";
    case ppt_psb:
      return "PSB";
    default:
      return "other";
  }
}

void count_stream(std::vector<uint8_t> bytes, std::map<std::string, uint64_t>& counts) {
  pt_config config{};
  pt_config_init(&config);
  config.begin = bytes.data();
  config.end = bytes.data() + bytes.size();
  const std::unique_ptr<pt_packet_decoder, decltype(&pt_pkt_free_decoder)> decoder(pt_pkt_alloc_decoder(&config),
                                                                                   &pt_pkt_free_decoder);
  while (pt_pkt_sync_forward(decoder.get()) >= 0) {
    pt_packet packet;
    while (pt_pkt_next(decoder.get(), &packet, sizeof packet) >= 0) ++counts[kind_of(packet.type)];
  }
}

}  // namespace

std::vector<uint8_t> stream_bytes(const SnapshotFile& file, const Stream& stream) {
  std::vector<uint8_t> bytes;
  for (const Stream::Piece& piece : stream.pieces) {
    const size_t at = bytes.size();
    bytes.resize(at + piece.bytes);
    if (!file.read(piece.file_offset, std::span(bytes).subspan(at))) std::abort();
  }
  return bytes;
}

std::map<std::string, uint64_t> count_packets(const SnapshotFile& file) {
  std::map<std::string, uint64_t> counts;
  for (const Stream& stream : file.snapshot().streams) count_stream(stream_bytes(file, stream), counts);
  return counts;
}

}  // namespace fathom::snapshot
