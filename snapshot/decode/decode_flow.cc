#include <intel-pt.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <thread>

#include "snapshot/decode/analysis.h"
#include "snapshot/decode/part_decoder.h"

namespace fathom::snapshot {
namespace {

void add(DecodeSummary& all, const DecodeSummary& part) {
  all.instructions += part.instructions;
  all.blocks += part.blocks;
  all.packet_bytes += part.packet_bytes;
  all.parts += part.parts;
  all.skipped_bytes += part.skipped_bytes;
  all.gap_total += part.gap_total;
  for (const auto& [reason, gaps] : part.gaps) {
    GapCount& count = all.gaps[reason];
    if (count.count == 0) count = {0, gaps.first_ip, gaps.first_cause};
    count.count += gaps.count;
  }
  if (part.last_tsc == 0) return;
  if (all.first_tsc == 0) all.first_tsc = part.first_tsc;
  all.first_tsc = std::min(all.first_tsc, part.first_tsc);
  all.last_tsc = std::max(all.last_tsc, part.last_tsc);
}

// The order in which streams are merged.
std::vector<size_t> stream_order(const std::vector<Stream>& streams, const std::vector<int32_t>& foremost) {
  std::vector<size_t> order(streams.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](size_t i) { return std::ranges::find(foremost, streams[i].tid); });
  return order;
}

// The parts, their way through the threads, and the merging in order.
class Work {
 public:
  Work(const DecodeContext& context, Analysis& analysis, unsigned threads, const ByteProgress& progress)
      : context_(context), analysis_(analysis), progress_(progress), threads_(threads), slots_(2 * threads) {}

  Result<> cut(const std::vector<size_t>& order, uint64_t part_bytes) {
    for (size_t stream : order) {
      auto parts = cut_stream(context_.packets[stream], stream, part_bytes);
      if (!parts) return parts.error();
      parts_.insert(parts_.end(), parts->begin(), parts->end());
      for (const StreamPart& part : *parts) all_bytes_ += part.end - part.begin + part.skipped;
    }
    return {};
  }

  Result<DecodeSummary> run() {
    std::vector<std::thread> helpers;
    const size_t useful = std::min<size_t>(threads_, parts_.size());
    for (size_t number = 1; number < useful; ++number) helpers.emplace_back([this] { work(); });
    work();
    for (auto& helper : helpers) helper.join();
    if (failed_) return *failed_;
    return summary_;
  }

 private:
  struct Slot {
    std::unique_ptr<FlowPart> flow;
    DecodeSummary summary;
    bool done = false;
  };

  void work() {
    PartDecoder decoder(context_);
    while (auto at = take()) {
      Slot& slot = slots_[*at % slots_.size()];
      auto decoded = decoder.decode(parts_[*at], *slot.flow);
      finish(*at, std::move(decoded));
    }
  }

  // The next part, once there is room for its outcome.
  std::optional<size_t> take() {
    std::unique_lock hold(lock_);
    changed_.wait(hold, [this] { return over() || next_ < merged_ + slots_.size(); });
    if (over()) return std::nullopt;
    const size_t at = next_++;
    std::lock_guard alone(analysis_lock_);
    slots_[at % slots_.size()] = {analysis_.part(parts_[at].stream), {}, false};
    return at;
  }

  void finish(size_t at, Result<DecodeSummary> decoded) {
    std::unique_lock hold(lock_);
    if (!decoded) {
      if (!failed_) failed_ = decoded.error();
      changed_.notify_all();
      return;
    }
    Slot& slot = slots_[at % slots_.size()];
    slot.summary = std::move(*decoded);
    slot.done = true;
    if (!merging_) merge(hold);
  }

  // All that is ready, in order; one thread at a time, and the others go on meanwhile.
  void merge(std::unique_lock<std::mutex>& hold) {
    merging_ = true;
    while (!failed_ && merged_ < next_ && slots_[merged_ % slots_.size()].done) {
      Slot slot = std::exchange(slots_[merged_ % slots_.size()], {});
      hold.unlock();
      const bool more = merge_one(std::move(slot.flow));
      hold.lock();
      add(summary_, slot.summary);
      ++merged_;
      if (progress_) progress_(summary_.packet_bytes, all_bytes_);
      if (!more && !failed_) failed_ = Error{ErrorCode::kCancelled, "enough has been seen"};
      changed_.notify_all();
    }
    merging_ = false;
  }

  bool merge_one(std::unique_ptr<FlowPart> flow) {
    std::lock_guard alone(analysis_lock_);
    return analysis_.merge(std::move(flow));
  }

  bool over() const { return failed_ || next_ == parts_.size(); }

  const DecodeContext& context_;
  Analysis& analysis_;
  const ByteProgress& progress_;
  const unsigned threads_;
  uint64_t all_bytes_ = 0;
  std::vector<StreamPart> parts_;

  std::mutex lock_;  // of what follows
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  size_t next_ = 0;
  size_t merged_ = 0;
  bool merging_ = false;
  std::optional<Error> failed_;
  DecodeSummary summary_;

  std::mutex analysis_lock_;
};

unsigned thread_count(unsigned wanted) {
  constexpr unsigned kMostThreads = 64;
  if (wanted == 0) wanted = std::thread::hardware_concurrency();
  return std::clamp(wanted, 1u, kMostThreads);
}

}  // namespace

Result<DecodeSummary> decode_flow(const SnapshotFile& file, const SnapshotDirectory& directory,
                                  const DecodeOptions& options, Analysis& analysis) {
  const DecodeContext context(file, directory, options.estimate_times);
  Work work(context, analysis, thread_count(options.threads), options.progress);
  if (auto cut = work.cut(stream_order(file.snapshot().streams, options.foremost), options.part_bytes); !cut)
    return cut.error();
  return work.run();
}

}  // namespace fathom::snapshot
