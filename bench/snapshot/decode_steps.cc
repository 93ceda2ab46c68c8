#include "bench/snapshot/decode_steps.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

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

class DecodeBench {
 public:
  DecodeBench(const MadeStream& stream, SnapshotDirectory directory)
      : stream_(stream), directory_(std::move(directory)) {}

  Result<> write() {
    auto written = write_stream(directory_, stream_);
    if (!written) return written.error();
    code_path_ = written->code_path;
    auto file = directory_.open_snapshot(written->id);
    if (!file) return file.error();
    file_ = std::move(*file);
    return {};
  }

  uint64_t plain() {
    return decode_plainly(stream_.packets, code_path_, stream_.base, stream_.code.size(), stream_.timing).instructions;
  }
  uint64_t flow() {
    Count count;
    auto summary = decode_flow(file_, directory_, {.threads = 1}, count);
    return summary && summary->gap_total == 0 ? count.instructions : 0;
  }
  uint64_t calls(unsigned threads) {
    const MadeExtents extents(stream_);
    CallStacks stacks(file_.snapshot(), extents, {});
    auto summary = decode_flow(file_, directory_, {.threads = threads}, stacks);
    stacks.finish();
    return summary && summary->gap_total == 0 ? summary->instructions : 0;
  }

 private:
  const MadeStream& stream_;
  SnapshotDirectory directory_;
  std::string code_path_;
  SnapshotFile file_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Instructions per second; 0 when it found another number than ran.
double rate(uint64_t expected, const std::function<uint64_t()>& decode) {
  const auto begin = std::chrono::steady_clock::now();
  const uint64_t found = decode();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return found == expected ? static_cast<double>(found) / took.count() : 0;
}

}  // namespace

Result<DecodeSpeed> measure_decode(const MadeStream& stream, const std::string& directory, int rounds) {
  auto opened = SnapshotDirectory::open(directory);
  if (!opened) return opened.error();
  DecodeBench bench(stream, std::move(*opened));
  if (auto written = bench.write(); !written) return written.error();
  std::vector<double> plain, flow, one, ratio;
  for (int round = 0; round < rounds; ++round) {
    plain.push_back(rate(stream.instructions, [&] { return bench.plain(); }));
    flow.push_back(rate(stream.instructions, [&] { return bench.flow(); }));
    one.push_back(rate(stream.instructions, [&] { return bench.calls(1); }));
    const double two = rate(stream.instructions, [&] { return bench.calls(2); });
    if (std::min({plain.back(), flow.back(), one.back(), two}) == 0) {
      return internal("a decode found another number of instructions than ran, or gaps");
    }
    ratio.push_back(two / one.back());
  }
  return DecodeSpeed{median(plain), median(flow), median(one), median(ratio)};
}

}  // namespace fathom::bench
