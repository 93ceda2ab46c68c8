#include "bench/snapshot/stepped_stream.h"

#include <algorithm>
#include <utility>

#include "bench/tracers/subprocess.h"
#include "snapshot/analyze/answer_context.h"
#include "snapshot/analyze/code_extents.h"
#include "snapshot/decode/testing/plain_loop.h"
#include "snapshot/import/draft.h"

namespace fathom::bench {
namespace {

using namespace fathom::snapshot;

// The dynamic linker, symbols looked up by name, an interpreter in its loop.
const std::vector<std::string> kCommand = {"/bin/sh", "-c", "i=0; while [ $i -lt 25 ]; do i=$((i+1)); done"};

Result<SnapshotId> step_program(const std::string& recorder, const std::string& directory) {
  tracers::Command command{{recorder, "--directory", directory, "--engine", "step", "--steps", "100000000", "--"}, {}};
  command.words.insert(command.words.end(), kCommand.begin(), kCommand.end());
  auto ended = tracers::run_to_end(command, 600);
  if (!ended) return ended.error();
  if (!ended->fine()) return internal(recorder + " failed: " + ended->output);
  auto opened = SnapshotDirectory::open(directory);
  if (!opened) return opened.error();
  return opened->find("last");
}

Result<std::string> packets_of(const SnapshotFile& file) {
  std::string packets;
  if (file.snapshot().streams.size() != 1) return internal("the stepped program has more than one thread");
  for (const Stream::Piece& piece : file.snapshot().streams[0].pieces) {
    const size_t at = packets.size();
    packets.resize(at + piece.bytes);
    const std::span bytes(reinterpret_cast<uint8_t*>(packets.data()) + at, piece.bytes);
    if (auto read = file.read(piece.file_offset, bytes); !read) return read.error();
  }
  return packets;
}

Result<SnapshotId> repeat_packets(const SnapshotDirectory& directory, const Snapshot& snapshot,
                                  const std::string& packets, uint64_t repeats) {
  auto draft = Draft::begin(directory);
  if (!draft) return draft.error();
  const std::span bytes(reinterpret_cast<const uint8_t*>(packets.data()), packets.size());
  for (uint64_t turn = 0; turn < repeats; ++turn) {
    if (auto put = draft->writer().packets(0, turn * bytes.size(), bytes); !put) return put.error();
  }
  return draft->publish(snapshot);
}

// What the program showed at its end: nothing of its code goes before that.
std::vector<PlainCode> codes_of(const AnswerContext& context) {
  std::vector<PlainCode> codes;
  for (const MappedRange& range : context.map().ranges(context.snapshot().streams[0].pid, UINT64_MAX)) {
    const Image& image = context.snapshot().images[range.image];
    const uint64_t held = image.bytes - std::min(image.bytes, range.file_offset);
    codes.push_back({context.directory().image_path(image.content), range.file_offset,
                     std::min(range.end - range.begin, held), range.begin});
  }
  return codes;
}

std::string repeated(const std::string& packets, uint64_t repeats) {
  std::string all;
  all.reserve(packets.size() * repeats);
  for (uint64_t turn = 0; turn < repeats; ++turn) all += packets;
  return all;
}

class Nobody final : public FlowPart {
 public:
  void take(std::span<const FlowItem>) override {}
};
class Counting final : public Analysis {
 public:
  std::unique_ptr<FlowPart> part(size_t) override { return std::make_unique<Nobody>(); }
  bool merge(std::unique_ptr<FlowPart>) override { return true; }
};

Result<uint64_t> instructions_of(const SnapshotFile& file, const SnapshotDirectory& directory) {
  Counting counting;
  auto summary = decode_flow(file, directory, {.threads = 1}, counting);
  if (!summary) return summary.error();
  if (summary->gap_total > 0 || summary->instructions == 0) return internal("the stepped program has gaps");
  return summary->instructions;
}

}  // namespace

Result<SteppedSpeed> measure_stepped_stream(const std::string& recorder, const std::string& directory,
                                            uint64_t instructions, int rounds) {
  auto stepped = step_program(recorder, directory);
  if (!stepped) return stepped.error();
  auto opened = SnapshotDirectory::open(directory);
  if (!opened) return opened.error();
  auto one = opened->open_snapshot(*stepped);
  if (!one) return one.error();
  auto packets = packets_of(*one);
  if (!packets) return packets.error();
  auto count = instructions_of(*one, *opened);
  if (!count) return count.error();
  SteppedSpeed speed{*count,
                     std::max<uint64_t>(instructions / *count, 1),
                     static_cast<double>(packets->size()) / static_cast<double>(*count),
                     {}};
  auto id = repeat_packets(*opened, one->snapshot(), *packets, speed.repeats);
  if (!id) return id.error();
  auto context = AnswerContext::open(*opened, *id);
  if (!context) return context.error();
  const SymbolExtents extents((*context)->names(), (*context)->map());
  const std::string all = repeated(*packets, speed.repeats);
  const std::vector<PlainCode> codes = codes_of(**context);
  const auto plain = [&] { return decode_plainly(all, codes, one->snapshot().timing).instructions; };
  auto measured = measure_decode({*opened, (*context)->file(), extents, plain, speed.stepped * speed.repeats}, rounds);
  if (!measured) return measured.error();
  speed.decode = *measured;
  return speed;
}

}  // namespace fathom::bench
