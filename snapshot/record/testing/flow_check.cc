#include "snapshot/record/testing/flow_check.h"

#include <intel-pt.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/fd.h"

namespace fathom::snapshot::step {
namespace {

struct Reading {
  const ReadCode& read;
  uint64_t tsc = 0;
};

int read_memory(uint8_t* to, size_t bytes, const pt_asid*, uint64_t ip, void* context) {
  const auto& reading = *static_cast<const Reading*>(context);
  const size_t got = reading.read(ip, reading.tsc, to, bytes);
  return got == 0 ? -pte_nomap : static_cast<int>(got);
}

struct FreeDecoder {
  void operator()(pt_insn_decoder* decoder) const { pt_insn_free_decoder(decoder); }
};
using Decoder = std::unique_ptr<pt_insn_decoder, FreeDecoder>;

Decoder make_decoder(std::vector<uint8_t>& packets, uint8_t nom_freq, Reading& reading) {
  pt_config config;
  pt_config_init(&config);
  config.begin = packets.data();
  config.end = packets.data() + packets.size();
  config.nom_freq = nom_freq;
  Decoder decoder(pt_insn_alloc_decoder(&config));
  pt_image_set_callback(pt_insn_get_image(decoder.get()), read_memory, &reading);
  return decoder;
}

int drain_events(pt_insn_decoder* decoder, int status) {
  while (status >= 0 && (status & pts_event_pending) != 0) {
    pt_event event;
    status = pt_insn_event(decoder, &event, sizeof event);
  }
  return status;
}

void note_time(pt_insn_decoder* decoder, Reading& reading, DecodedFlow& flow) {
  uint64_t tsc = 0;
  if (pt_insn_time(decoder, &tsc, nullptr, nullptr) != 0) return;
  if (flow.first_tsc == 0) flow.first_tsc = tsc;
  reading.tsc = flow.last_tsc = tsc;
}

// The sideband's maps of one process, by what was there at a time, or at least at some time.
class Code {
 public:
  Code(const SnapshotDirectory& directory, const Snapshot& snapshot, int32_t pid) {
    for (const Sideband& row : snapshot.sideband) {
      const bool maps = row.kind == SidebandKind::kMap && row.pid == pid && row.image < snapshot.images.size();
      if (maps)
        rows_.push_back({row, Fd(::open(directory.image_path(snapshot.images[row.image].content).c_str(), O_RDONLY))});
    }
  }

  size_t read(uint64_t ip, uint64_t tsc, uint8_t* to, size_t bytes) const {
    const Row* best = nullptr;
    for (const Row& row : rows_) {
      const bool here = ip >= row.map.address && ip - row.map.address < row.map.length;
      if (here && (best == nullptr || row.map.tsc <= tsc)) best = &row;
    }
    if (best == nullptr) return 0;
    const uint64_t at = ip - best->map.address;
    bytes = std::min<uint64_t>(bytes, best->map.length - at);
    const ssize_t got = ::pread(best->file.get(), to, bytes, static_cast<off_t>(best->map.file_offset + at));
    return got > 0 ? static_cast<size_t>(got) : 0;
  }

 private:
  struct Row {
    Sideband map;
    Fd file;
  };
  std::vector<Row> rows_;  // by tsc
};

Result<std::vector<uint8_t>> packets_of(const SnapshotFile& file, const Stream& stream) {
  std::vector<uint8_t> packets;
  for (const Stream::Piece& piece : stream.pieces) {
    const size_t at = packets.size();
    packets.resize(at + piece.bytes);
    if (auto got = file.read(piece.file_offset, {packets.data() + at, piece.bytes}); !got) return got.error();
  }
  return packets;
}

std::string at_address(const char* what, size_t place, uint64_t ip) {
  char text[96];
  std::snprintf(text, sizeof text, "%s, instruction %zu, at %lx", what, place, ip);
  return text;
}

void compare(const std::vector<uint64_t>& stepped, const DecodedFlow& flow, FlowCheck& check) {
  const size_t both = std::min(stepped.size(), flow.ips.size());
  const size_t most = std::max(stepped.size(), flow.ips.size());
  for (size_t i = 0; i < most; i++) {
    if (i < both && stepped[i] == flow.ips[i]) continue;
    check.mismatches++;
    const bool more = i >= flow.ips.size();
    if (check.first.empty())
      check.first =
          at_address(more ? "stepped, and not decoded" : "decoded otherwise", i, more ? stepped[i] : flow.ips[i]) +
          " " + flow.error;
  }
  check.instructions += flow.ips.size();
  if (flow.error.empty()) return;
  check.errors++;
  if (check.first.empty()) check.first = flow.error;
}

}  // namespace

DecodedFlow decode_stream(std::vector<uint8_t> packets, uint8_t nom_freq, const ReadCode& read) {
  DecodedFlow flow;
  if (packets.empty()) return flow;
  Reading reading{read};
  const Decoder decoder = make_decoder(packets, nom_freq, reading);
  int status = pt_insn_sync_forward(decoder.get());
  while (true) {
    status = drain_events(decoder.get(), status);
    if (status < 0 || (status & pts_eos) != 0) break;
    note_time(decoder.get(), reading, flow);
    pt_insn instruction{};
    status = pt_insn_next(decoder.get(), &instruction, sizeof instruction);
    if (instruction.iclass != ptic_error) flow.ips.push_back(instruction.ip);
    if (status < 0) break;
  }
  note_time(decoder.get(), reading, flow);
  uint64_t at = 0;
  pt_insn_get_offset(decoder.get(), &at);
  if (status < 0 && status != -pte_eos)
    flow.error = std::string(pt_errstr(pt_errcode(status))) + " at byte " + std::to_string(at);
  return flow;
}

Result<FlowCheck> check_flow(const SnapshotDirectory& directory, const SnapshotId& id, const StepLog& log) {
  auto file = directory.open_snapshot(id);
  if (!file) return file.error();
  FlowCheck check;
  const Snapshot& snapshot = file->snapshot();
  for (const Stream& stream : snapshot.streams) {
    auto packets = packets_of(*file, stream);
    if (!packets) return packets.error();
    const Code code(directory, snapshot, stream.pid);
    const ReadCode read = [&](uint64_t ip, uint64_t tsc, uint8_t* to, size_t bytes) {
      return code.read(ip, tsc, to, bytes);
    };
    const auto stepped = log.find(stream.tid);
    compare(stepped == log.end() ? std::vector<uint64_t>() : stepped->second,
            decode_stream(std::move(*packets), snapshot.timing.nom_freq, read), check);
  }
  return check;
}

}  // namespace fathom::snapshot::step
