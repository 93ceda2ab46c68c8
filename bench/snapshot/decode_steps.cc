#include "bench/snapshot/decode_steps.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <vector>

#include "bench/loops.h"
#include "bench/snapshot/written_stream.h"
#include "snapshot/decode/analysis.h"
#include "snapshot/decode/call_stack.h"
#include "snapshot/decode/testing/plain_loop.h"

namespace fathom::bench {
namespace {

using namespace fathom::snapshot;

class CountPart final : public FlowPart {
 public:
  void take(std::span<const FlowItem> items) override {
    for (const FlowItem& item : items) instructions += item.kind == FlowKind::kBlock ? item.count : 0;
  }
  uint64_t instructions = 0;
};

class Count final : public Analysis {
 public:
  std::unique_ptr<FlowPart> part(size_t) override { return std::make_unique<CountPart>(); }
  bool merge(std::unique_ptr<FlowPart> part) override {
    instructions += static_cast<CountPart&>(*part).instructions;
    return true;
  }
  uint64_t instructions = 0;
};

uint64_t count_flow(const DecodeSubject& subject) {
  Count count;
  auto summary = decode_flow(subject.file, subject.directory, {.threads = 1}, count);
  return summary && summary->gap_total == 0 ? count.instructions : 0;
}

uint64_t build_calls(const DecodeSubject& subject, unsigned threads) {
  CallStacks stacks(subject.file.snapshot(), subject.extents, {});
  auto summary = decode_flow(subject.file, subject.directory, {.threads = threads}, stacks);
  stacks.finish();
  return summary && summary->gap_total == 0 ? summary->instructions : 0;
}

// Instructions per second; 0 when it found another number than ran.
double rate(uint64_t expected, const std::function<uint64_t()>& decode) {
  const auto begin = std::chrono::steady_clock::now();
  const uint64_t found = decode();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return found == expected ? static_cast<double>(found) / took.count() : 0;
}

// Instructions per second of two that decode the same, each for itself.
double rate_of_two(const DecodeSubject& subject) {
  return rate(2 * subject.instructions, [&] {
    auto other = std::async(std::launch::async, subject.plain);
    const uint64_t here = subject.plain();
    return here + other.get();
  });
}

}  // namespace

Result<DecodeSpeed> measure_decode(const DecodeSubject& subject, int rounds) {
  std::vector<double> plain, flow, one, ratio, plain_ratio;
  for (int round = 0; round < rounds; ++round) {
    plain.push_back(rate(subject.instructions, subject.plain));
    flow.push_back(rate(subject.instructions, [&] { return count_flow(subject); }));
    one.push_back(rate(subject.instructions, [&] { return build_calls(subject, 1); }));
    const double two = rate(subject.instructions, [&] { return build_calls(subject, 2); });
    const double two_plain = rate_of_two(subject);
    if (std::min({plain.back(), flow.back(), one.back(), two, two_plain}) == 0) {
      return internal("a decode found another number of instructions than ran, or gaps");
    }
    ratio.push_back(two / one.back());
    plain_ratio.push_back(two_plain / plain.back());
  }
  return DecodeSpeed{median(plain), median(flow), median(one), median(ratio), median(plain_ratio)};
}

Result<DecodeSpeed> measure_made_stream(const MadeStream& stream, const std::string& directory, int rounds) {
  auto opened = SnapshotDirectory::open(directory);
  if (!opened) return opened.error();
  auto written = write_stream(*opened, stream);
  if (!written) return written.error();
  auto file = opened->open_snapshot(written->id);
  if (!file) return file.error();
  const PlainCode code{written->code_path, 0, stream.code.size(), stream.base};
  const auto plain = [&] { return decode_plainly(stream.packets, std::span(&code, 1), stream.timing).instructions; };
  const MadeExtents extents(stream);
  return measure_decode({*opened, *file, extents, plain, stream.instructions}, rounds);
}

}  // namespace fathom::bench
