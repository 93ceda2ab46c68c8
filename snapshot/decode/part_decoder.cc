#include "snapshot/decode/part_decoder.h"

#include <algorithm>

#include "snapshot/decode/crystal.h"
#include "snapshot/decode/packet_walk.h"
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
  const Timing timing = with_crystal_ratio(snapshot.timing, snapshot.cpu);
  config.mtc_freq = timing.mtc_freq;
  config.nom_freq = timing.nom_freq;
  config.cpuid_0x15_eax = timing.cpuid_0x15_eax;
  config.cpuid_0x15_ebx = timing.cpuid_0x15_ebx;
  config.flags.variant.block.end_on_call = 1;
  config.flags.variant.block.end_on_jump = 1;
  return config;
}

// Cycles count from one MTC to the next, of which libipt keeps nothing where it cannot tell the MTC's own time: its
// clock would go backwards. Without them cycles count from the last TSC. `bytes` begin with a PSB.
void blank_useless_mtc(const pt_config& config, std::span<uint8_t> bytes) {
  const bool useless = config.nom_freq != 0 && (config.cpuid_0x15_eax == 0 || config.cpuid_0x15_ebx == 0);
  for (size_t begin = 0; useless && begin < bytes.size();) {
    const size_t end = find_psb(bytes, begin + kPsbBytes);
    PacketWalk walk(config, bytes.subspan(begin, end - begin));
    for (pt_packet packet; walk.next(packet);) {
      if (packet.type != ppt_mtc) continue;
      std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(begin + walk.offset() - packet.size), packet.size, uint8_t{0});
    }
    begin = end;
  }
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

DecodeContext::DecodeContext(const SnapshotFile& file, const SnapshotDirectory& directory, bool estimate)
    : packets(packets_of(file)),
      histories(thread_histories(file.snapshot())),
      map(file.snapshot()),
      sections(std::make_unique<SectionCache>(file.snapshot(), directory)),
      config(config_of(file.snapshot())),
      filters(file.snapshot()),
      estimate_times(estimate),
      guests_apart(file.snapshot().origin != Origin::kRawStream) {}

Result<DecodeSummary> PartDecoder::decode(const StreamPart& part, FlowPart& flow) {
  if (decoded_bytes(part) <= kLargePartBytes) return decode_one(part, flow);
  std::lock_guard alone(context_.large_part);
  auto decoded = decode_one(part, flow);
  bytes_ = {};
  return decoded;
}

Result<DecodeSummary> PartDecoder::decode_one(const StreamPart& part, FlowPart& flow) {
  if (auto got = read(part); !got) return got.error();
  blank_useless_mtc(context_.config, packets());
  FlowWriter out(flow, context_.estimate_times);
  Whereabouts where(part, context_.histories[part.stream], context_.map, spaces_, out, context_.guests_apart);
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

pt_config PartDecoder::config_of_segment(const Whereabouts& where) const {
  pt_config config = context_.config;
  if (!context_.filters.empty()) config.addr_filter = context_.filters.in(where.spaces_of_segment());
  return config;
}

// Of the segment that begins at `begin`, in a part of `size`.
PartDecoder::SegmentEnd PartDecoder::segment_end(std::span<const uint8_t> bytes, size_t begin, size_t size) {
  size_t known = begin;
  bool records = false;  // in front of `known`
  for (size_t at = begin;;) {
    at = std::min(find_psb(bytes, at + kPsbBytes), size);
    if (at == bytes.size()) return {at, {}};
    const PsbHeader header = read_psb_header(bytes.subspan(at));
    if (at == size || (header.complete && header.ip)) return {at, header};
    if (!header.complete) continue;
    records = records_behind(bytes.subspan(known, at - known), records);
    if (!records) return {at, header};
    known = at;
  }
}

void PartDecoder::decode_segments(const StreamPart& part, Whereabouts& where, FlowWriter& out) {
  const std::span<uint8_t> bytes = packets();
  const size_t size = decoded_bytes(part);
  PsbHeader header = read_psb_header(bytes);
  for (size_t at = 0; at < size;) {
    const auto [end, behind] = segment_end(bytes, at, size);
    const bool last = end == bytes.size();
    where.segment(header.tsc.value_or(0), behind.tsc.value_or(UINT64_MAX));
    // libipt looks at the first instruction, of some processors, before it says where it is.
    if (header.ip) where.find_code(*header.ip);
    const auto stop = behind.complete ? behind.ip : std::nullopt;
    const std::span<uint8_t> segment = bytes.subspan(at, end - at);
    const pt_config config = config_of_segment(where);
    const auto fault = SegmentDecoder(config, classes_, where, out).decode(segment, stop, last);
    if (fault) SegmentResumption(config, classes_, where, out).go_on(*fault, segment, stop, last);
    where.end_segment(behind.tsc.has_value());
    header = behind;
    at = end;
  }
}

}  // namespace fathom::snapshot
