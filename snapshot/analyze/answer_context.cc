#include "snapshot/analyze/answer_context.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/text.h"
#include "snapshot/decode/packet_stream.h"

namespace fathom::snapshot {
namespace {

constexpr size_t kChunkBytes = 64 << 10;

// 0 where no packet tells time.
uint64_t first_tsc(const SnapshotFile& file, size_t stream) {
  const auto parts = cut_stream(PacketStream(file, stream), stream, UINT64_MAX);
  if (!parts) return 0;
  for (const StreamPart& part : *parts) {
    if (part.first_tsc != 0) return part.first_tsc;
  }
  return 0;
}

}  // namespace

Result<std::unique_ptr<AnswerContext>> AnswerContext::open(const SnapshotDirectory& directory, const SnapshotId& id) {
  auto file = directory.open_snapshot(id);
  if (!file) return file.error();
  return std::make_unique<AnswerContext>(directory, std::move(*file));
}

AnswerContext::AnswerContext(const SnapshotDirectory& directory, SnapshotFile file)
    : directory_(directory),
      file_(std::move(file)),
      map_(file_.snapshot()),
      images_(file_.snapshot(), directory),
      names_(file_.snapshot(), directory, map_),
      time_(file_.snapshot()) {
  for (const Sideband& row : snapshot().sideband) {
    if (row.kind == SidebandKind::kName) thread_names_[row.tid] = row.text;
  }
}

uint64_t AnswerContext::begin_tsc() const {
  if (begin_tsc_) return *begin_tsc_;
  uint64_t least = 0;
  for (size_t stream = 0; stream < snapshot().streams.size(); ++stream) {
    const uint64_t first = first_tsc(file_, stream);
    if (first != 0 && (least == 0 || first < least)) least = first;
  }
  begin_tsc_ = least;
  return least;
}

std::optional<int64_t> AnswerContext::since_begin(uint64_t tsc) const {
  const uint64_t begin = begin_tsc();
  if (tsc == 0 || begin == 0) return std::nullopt;
  const bool before = tsc < begin;  // time of packets before a PSB is a guess
  const uint64_t distance = std::min<uint64_t>(time_.duration(before ? begin - tsc : tsc - begin), INT64_MAX);
  return before ? -static_cast<int64_t>(distance) : static_cast<int64_t>(distance);
}

std::string AnswerContext::since_begin_text(uint64_t tsc) const {
  const auto since = since_begin(tsc);
  if (!since) return "";
  return (*since < 0 ? "-" : "") + group_digits(static_cast<uint64_t>(std::abs(*since)));
}

std::string AnswerContext::thread_name(int32_t tid) const {
  const auto found = thread_names_.find(tid);
  return found == thread_names_.end() ? std::string() : found->second;
}

Result<> AnswerContext::check_thread(int32_t tid) const {
  if (tid < 0) return {};
  std::set<int32_t> known;
  for (const Stream& stream : snapshot().streams) known.insert(stream.tid);
  for (const Sideband& row : snapshot().sideband) known.insert(row.tid);
  if (known.contains(tid)) return {};
  std::string some;
  constexpr size_t kMostNamed = 10;
  size_t named = 0;
  for (int32_t one : known) {
    if (one < 0 || named++ >= kMostNamed) continue;
    some += (some.empty() ? ": it has " : ", ") + std::to_string(one);
  }
  return invalid("no thread " + std::to_string(tid) + " in this snapshot" + some + (named > kMostNamed ? ", ..." : ""));
}

Result<std::optional<DecodeSummary>> AnswerContext::decode(const Question& question, Analysis& analysis,
                                                           DecodeOptions options) const {
  if (auto known = check_thread(question.tid); !known) return known.error();
  options.threads = question.threads;
  options.progress = question.progress;
  auto summary = decode_flow(file_, directory_, options, analysis);
  if (summary) return std::optional(std::move(*summary));
  if (summary.error().code == ErrorCode::kCancelled) return std::optional<DecodeSummary>();
  return summary.error();
}

bool AnswerWriter::write(std::string_view text) {
  buffer_ += text;
  return written();
}

bool AnswerWriter::written() {
  return buffer_.size() < kChunkBytes ? !gone_ : flush();
}

bool AnswerWriter::flush() {
  if (!gone_ && !buffer_.empty()) gone_ = !output_(buffer_);
  buffer_.clear();
  return !gone_;
}

}  // namespace fathom::snapshot
