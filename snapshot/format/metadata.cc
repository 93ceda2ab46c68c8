#include <algorithm>
#include <limits>
#include <utility>

#include "base/bytes.h"
#include "snapshot/format/snapshot_file.h"

namespace fathom::snapshot {
namespace {

// A count is believed only as far as bytes for as many are there: hostile counts must not make us allocate.
size_t believable(ByteReader& reader, uint64_t count, size_t least_bytes_each) {
  if (count <= reader.remaining() / least_bytes_each) return static_cast<size_t>(count);
  reader.fail();
  return 0;
}

template <typename T, typename Write>
void write_list(ByteWriter& out, const std::vector<T>& list, const Write& write) {
  out.varint(list.size());
  for (const T& each : list) write(out, each);
}

template <typename T, typename Read>
std::vector<T> read_list(ByteReader& in, size_t least_bytes_each, const Read& read) {
  std::vector<T> list(believable(in, in.varint(), least_bytes_each));
  for (T& each : list) each = read(in);
  return list;
}

template <size_t kSize>
Id<kSize> read_id(ByteReader& in) {
  return Id<kSize>::from_bytes(in.raw(kSize)).value_or(Id<kSize>{});
}

template <typename Kind>
Kind read_kind(ByteReader& in, Kind last) {
  const uint8_t value = in.u8();
  if (value == 0 || value > static_cast<uint8_t>(last)) in.fail();
  return static_cast<Kind>(value);
}

int32_t read_i32(ByteReader& in) {
  const int64_t value = in.svarint();
  if (value < INT32_MIN || value > INT32_MAX) in.fail();
  return static_cast<int32_t>(value);
}

template <typename T>
T read_narrow(ByteReader& in) {
  const uint64_t value = in.varint();
  if (value > std::numeric_limits<T>::max()) in.fail();
  return static_cast<T>(value);
}

void write_cpu(ByteWriter& out, const Cpu& cpu) {
  out.u8(cpu.intel ? 1 : 0);
  out.varint(cpu.family);
  out.u8(cpu.model);
  out.u8(cpu.stepping);
}

Cpu read_cpu(ByteReader& in) {
  Cpu cpu;
  cpu.intel = in.u8() != 0;
  cpu.family = read_narrow<uint16_t>(in);
  cpu.model = in.u8();
  cpu.stepping = in.u8();
  return cpu;
}

void write_timing(ByteWriter& out, const Timing& timing) {
  out.u8(timing.mtc_freq);
  out.u8(timing.nom_freq);
  out.varint(timing.cpuid_0x15_eax);
  out.varint(timing.cpuid_0x15_ebx);
  out.varint(timing.conversion_zero_nano);
  out.varint(timing.conversion_mult);
  out.varint(timing.conversion_shift);
}

Timing read_timing(ByteReader& in) {
  Timing timing;
  timing.mtc_freq = in.u8();
  timing.nom_freq = in.u8();
  timing.cpuid_0x15_eax = in.varint32();
  timing.cpuid_0x15_ebx = in.varint32();
  timing.conversion_zero_nano = in.varint();
  timing.conversion_mult = in.varint32();
  timing.conversion_shift = read_narrow<uint16_t>(in);
  if (timing.conversion_shift >= 64) in.fail();
  return timing;
}

void write_trigger(ByteWriter& out, const Trigger& trigger) {
  out.string(trigger.reason);
  out.varint(trigger.tsc);
  out.svarint(trigger.tid);
  out.raw(trigger.trace_id.view());
  out.raw(trigger.span_id.view());
}

Trigger read_trigger(ByteReader& in) {
  Trigger trigger;
  trigger.reason = in.string();
  trigger.tsc = in.varint();
  trigger.tid = read_i32(in);
  trigger.trace_id = read_id<16>(in);
  trigger.span_id = read_id<8>(in);
  return trigger;
}

void write_stream(ByteWriter& out, const Stream& stream) {
  out.svarint(stream.cpu);
  out.svarint(stream.pid);
  out.svarint(stream.tid);
  write_list(out, stream.pieces, [](ByteWriter& to, const Stream::Piece& piece) {
    to.varint(piece.offset);
    to.varint(piece.file_offset);
    to.varint(piece.bytes);
  });
}

// A piece that does not lie among the packets is none that a reader may follow.
Stream::Piece read_piece(ByteReader& in, uint64_t packet_bytes_end) {
  Stream::Piece piece;
  piece.offset = in.varint();
  piece.file_offset = in.varint();
  piece.bytes = in.varint();
  const bool inside = piece.file_offset <= packet_bytes_end && piece.bytes <= packet_bytes_end - piece.file_offset;
  if (!inside || piece.offset > UINT64_MAX - piece.bytes) in.fail();
  return piece;
}

Stream read_stream(ByteReader& in, uint64_t packet_bytes_end) {
  Stream stream;
  stream.cpu = read_i32(in);
  stream.pid = read_i32(in);
  stream.tid = read_i32(in);
  stream.pieces = read_list<Stream::Piece>(in, 3, [&](ByteReader& from) { return read_piece(from, packet_bytes_end); });
  return stream;
}

void write_image(ByteWriter& out, const Image& image) {
  out.string(image.name);
  out.string(image.build_id);
  out.u8(static_cast<uint8_t>(image.kind));
  out.raw(image.content.view());
  out.varint(image.bytes);
  out.string(image.missing);
}

Image read_image(ByteReader& in) {
  Image image;
  image.name = in.string();
  image.build_id = in.string();
  image.kind = read_kind(in, ImageKind::kFlat);
  image.content = read_id<32>(in);
  image.bytes = in.varint();
  image.missing = in.string();
  return image;
}

// Records are in the order of time, so what follows is near.
void write_sideband(ByteWriter& out, const Sideband& row, uint64_t& last_tsc) {
  out.u8(static_cast<uint8_t>(row.kind));
  out.svarint(static_cast<int64_t>(row.tsc - last_tsc));
  last_tsc = row.tsc;
  for (int32_t number : {row.cpu, row.pid, row.tid, row.other_pid, row.other_tid}) out.svarint(number);
  for (uint64_t number : {uint64_t{row.flags}, row.address, row.length, row.file_offset}) out.varint(number);
  out.varint(row.image == kNoImage ? 0 : uint64_t{row.image} + 1);
  out.string(row.text);
  out.string(row.other_text);
}

Sideband read_sideband(ByteReader& in, uint64_t& last_tsc, size_t images) {
  Sideband row;
  row.kind = read_kind(in, SidebandKind::kStepped);
  row.tsc = last_tsc + static_cast<uint64_t>(in.svarint());
  last_tsc = row.tsc;
  for (int32_t* number : {&row.cpu, &row.pid, &row.tid, &row.other_pid, &row.other_tid}) *number = read_i32(in);
  row.flags = in.varint32();
  for (uint64_t* number : {&row.address, &row.length, &row.file_offset}) *number = in.varint();
  const uint64_t image = in.varint();
  if (image > images) in.fail();
  row.image = image == 0 ? kNoImage : static_cast<uint32_t>(image - 1);
  row.text = in.string();
  row.other_text = in.string();
  return row;
}

constexpr size_t kLeastSidebandBytes = 14;
constexpr size_t kLeastImageBytes = 37;

}  // namespace

std::string encode_metadata(const Snapshot& snapshot) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(static_cast<uint8_t>(snapshot.engine));
  out.u8(static_cast<uint8_t>(snapshot.origin));
  write_cpu(out, snapshot.cpu);
  write_timing(out, snapshot.timing);
  out.string(snapshot.host);
  out.string(snapshot.command);
  out.svarint(snapshot.taken_unix_nano);
  out.f64(snapshot.slowdown);
  write_trigger(out, snapshot.trigger);
  write_list(out, snapshot.streams, write_stream);
  write_list(out, snapshot.images, write_image);
  uint64_t last_tsc = 0;
  write_list(out, snapshot.sideband, [&](ByteWriter& to, const Sideband& row) { write_sideband(to, row, last_tsc); });
  write_list(out, snapshot.losses, [](ByteWriter& to, const Loss& loss) {
    to.string(loss.name);
    to.varint(loss.count);
  });
  return bytes;
}

Result<Snapshot> decode_metadata(std::string_view bytes, uint64_t packet_bytes_end) {
  ByteReader in(bytes);
  Snapshot snapshot;
  snapshot.engine = read_kind(in, Engine::kStandIn);
  snapshot.origin = read_kind(in, Origin::kRawStream);
  snapshot.cpu = read_cpu(in);
  snapshot.timing = read_timing(in);
  snapshot.host = in.string();
  snapshot.command = in.string();
  snapshot.taken_unix_nano = in.svarint();
  snapshot.slowdown = in.f64();
  snapshot.trigger = read_trigger(in);
  snapshot.streams = read_list<Stream>(in, 4, [&](ByteReader& from) { return read_stream(from, packet_bytes_end); });
  snapshot.images = read_list<Image>(in, kLeastImageBytes, read_image);
  uint64_t last_tsc = 0;
  snapshot.sideband = read_list<Sideband>(
      in, kLeastSidebandBytes, [&](ByteReader& from) { return read_sideband(from, last_tsc, snapshot.images.size()); });
  snapshot.losses = read_list<Loss>(in, 2, [](ByteReader& from) {
    Loss loss;
    loss.name = from.string();
    loss.count = from.varint();
    return loss;
  });
  if (in.failed() || !in.at_end()) return corrupt("the description in this snapshot is damaged");
  return snapshot;
}

}  // namespace fathom::snapshot
