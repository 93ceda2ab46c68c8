#include "snapshot/decode/part_decoder.h"

#include <algorithm>

#include "snapshot/decode/psb.h"
#include "snapshot/decode/segment_resumption.h"

namespace fathom::snapshot {
namespace {

pt_cpu cpu_of(const Cpu& cpu) {
  pt_cpu known = {};
  known.vendor = cpu.intel ? pcv_intel : pcv_unknown;
  known.family = cpu.family;
  known.model = cpu.model;
  known.stepping = cpu.stepping;
  return known;
}

pt_config config_of(const Snapshot& snapshot) {
  pt_config config;
  pt_config_init(&config);
  config.cpu = cpu_of(snapshot.cpu);
  if (snapshot.cpu.intel) pt_cpu_errata(&config.errata, &config.cpu);  // unknown processors have no known errata
  config.mtc_freq = snapshot.timing.mtc_freq;
  config.nom_freq = snapshot.timing.nom_freq;
  config.cpuid_0x15_eax = snapshot.timing.cpuid_0x15_eax;
  config.cpuid_0x15_ebx = snapshot.timing.cpuid_0x15_ebx;
  config.flags.variant.block.end_on_call = 1;
  config.flags.variant.block.end_on_jump = 1;
  return config;
}

constexpr uint64_t kLargePartBytes = 1u << 20;

uint64_t decoded_bytes(const StreamPart& part) {
  return std::min(part.end - part.begin, kMostPartBytes);
}

std::vector<PacketStream> packets_of(const SnapshotFile& file) {
  std::vector<PacketStream> all;
  for (size_t stream = 0; stream < file.snapshot().streams.size(); ++stream) all.emplace_back(file, stream);
  return all;
}

}  // namespace

DecodeContext::DecodeContext(const SnapshotFile& file, const SnapshotDirectory& directory)
    : packets(packets_of(file)),
      histories(thread_histories(file.snapshot())),
      map(file.snapshot()),
      sections(std::make_unique<SectionCache>(file.snapshot(), directory)),
      config(config_of(file.snapshot())) {}

Result<DecodeSummary> PartDecoder::decode(const StreamPart& part, FlowPart& flow) {
  if (decoded_bytes(part) <= kLargePartBytes) return decode_one(part, flow);
  std::lock_guard alone(context_.large_part);
  auto decoded = decode_one(part, flow);
  bytes_ = {};
  return decoded;
}

Result<DecodeSummary> PartDecoder::decode_one(const StreamPart& part, FlowPart& flow) {
  if (auto got = read(part); !got) return got.error();
  FlowWriter out(flow);
  Whereabouts where(part, context_.histories[part.stream], context_.map, spaces_, out);
  where.begin();
  out.summary.parts = 1;
  out.summary.packet_bytes = part.end - part.begin + part.skipped;
  out.summary.skipped_bytes = part.skipped;
  out.summary.first_tsc = part.first_tsc;
  if (part.behind_loss) out.gap(GapReason::kPacketsLost, 0, where.now(), "packets are missing between two pieces");
  if (part.begin == part.stretch_bytes && !part.behind_loss) {
    out.gap(GapReason::kBadPacket, 0, where.now(), "no synchronisation point (PSB) in all of the stream");
  }
  decode_segments(part, where, out);
  if (decoded_bytes(part) < part.end - part.begin) {
    out.gap(GapReason::kPacketsLost, 0, where.now(),
            "no synchronisation point (PSB) for too long: the rest is left out");
  }
  where.end();
  out.flush();
  out.summary.last_tsc = where.now();
  return std::move(out.summary);
}

// The part, and the next PSB+ behind it. libipt writes to nothing of it, but we do around each segment.
Result<> PartDecoder::read(const StreamPart& part) {
  const uint64_t decoded = decoded_bytes(part);
  const bool whole = decoded == part.end - part.begin;
  const uint64_t ahead = whole ? std::min<uint64_t>(kMostPsbHeaderBytes, part.stretch_bytes - part.end) : 0;
  const uint64_t size = decoded + ahead;
  bytes_.resize(size + 2 * kRoom);
  return context_.packets[part.stream].read(part.stretch, part.begin, packets());
}

void PartDecoder::decode_segments(const StreamPart& part, Whereabouts& where, FlowWriter& out) {
  const std::span<uint8_t> bytes = packets();
  const size_t size = decoded_bytes(part);
  PsbHeader header = read_psb_header(bytes);
  for (size_t at = 0; at < size;) {
    const size_t next = find_psb(bytes, at + kPsbBytes);
    const size_t end = std::min(next, size);
    const bool last = end == bytes.size();
    const PsbHeader behind = last ? PsbHeader() : read_psb_header(bytes.subspan(end));
    where.segment(header.tsc.value_or(0), behind.tsc.value_or(UINT64_MAX));
    const auto stop = behind.complete ? behind.ip : std::nullopt;
    const std::span<uint8_t> segment = bytes.subspan(at, end - at);
    const auto fault = SegmentDecoder(context_.config, classes_, where, out).decode(segment, stop, last);
    if (fault) SegmentResumption(context_.config, classes_, where, out).go_on(*fault, segment, stop, last);
    header = behind;
    at = end;
  }
}

}  // namespace fathom::snapshot
