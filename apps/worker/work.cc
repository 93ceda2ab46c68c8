#include "apps/worker/work.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "apps/worker/import_remarks.h"
#include "apps/worker/snapshot_list.h"
#include "apps/worker/view_session.h"
#include "apps/worker/work_paths.h"
#include "base/bytes.h"
#include "base/fd.h"
#include "base/sha256.h"
#include "cli/text.h"
#include "snapshot/format/directory.h"

namespace fathom {

namespace {

using snapshot::Question;
using snapshot::SnapshotDirectory;
using snapshot::SnapshotId;

// Passes an answer on, and keeps a copy while it is small.
class KeptAnswer {
 public:
  explicit KeptAnswer(const snapshot::Output& out) : out_(out) {}

  bool write(std::string_view piece) {
    reader_gone_ = reader_gone_ || !out_(piece);
    if (copy_.size() + piece.size() > kMostKeptBytes) too_large_ = true;
    if (too_large_) std::string().swap(copy_);
    if (!too_large_) copy_ += piece;
    return !reader_gone_;
  }
  bool whole() const { return !reader_gone_ && !too_large_; }
  bool reader_gone() const { return reader_gone_; }
  const std::string& copy() const { return copy_; }

 private:
  const snapshot::Output& out_;
  std::string copy_;
  bool reader_gone_ = false;
  bool too_large_ = false;
};

snapshot::ByteProgress progress_of(const WorkerStreams& streams, std::string_view what) {
  if (!streams.progress) return {};
  return [&streams, what](uint64_t done, uint64_t all) { streams.progress(what, done, all); };
}

// By the names of files alone; an import and a list are about no snapshot in particular.
Result<Question> with_ids(const SnapshotDirectory& directory, const WorkerOptions& options) {
  Question question = options.question;
  for (const auto& [text, id] : {std::pair(&options.id, &question.id), std::pair(&options.other, &question.other)}) {
    if (text->empty()) continue;
    auto found = directory.find(*text);
    if (!found) return found.error();
    *id = *found;
  }
  return question;
}

Result<> ask(const SnapshotDirectory& directory, Question question, const WorkerOptions& options,
             const WorkerStreams& streams) {
  const std::string key = answer_key(question);
  if (options.cache) {
    if (auto known = directory.result(key)) {
      streams.out(*known);
      return {};
    }
  }
  question.progress = progress_of(streams, "decoded");
  KeptAnswer kept(streams.out);
  auto answered = snapshot::answer(directory, question, [&](std::string_view piece) { return kept.write(piece); });
  if (kept.reader_gone()) return {};
  // Files of this host change. A full disk is no reason to fail: the answer is out.
  const bool may_keep = question.source_directories.empty();
  if (answered && may_keep && kept.whole()) (void)directory.keep_result(key, kept.copy());
  return answered;
}

Result<snapshot::SnapshotId> import_file(const SnapshotDirectory& directory, const WorkerOptions& options,
                                         const snapshot::ByteProgress& progress) {
  if (options.raw) {
    if (auto checked = check_raw_stream(options.raw->path); !checked) return checked.error();
    snapshot::RawImport raw = *options.raw;
    raw.progress = progress;
    return import_raw(directory, raw);
  }
  snapshot::PerfImport perf = *options.perf;
  perf.progress = progress;
  auto id = import_perf_data(directory, perf);
  if (!id) return id;
  if (auto checked = check_perf_packets(directory, *id, perf.path); !checked) {
    (void)directory.remove(*id);
    return checked.error();
  }
  return id;
}

Result<> import(const SnapshotDirectory& directory, const WorkerOptions& options, const WorkerStreams& streams) {
  auto id = import_file(directory, options, progress_of(streams, "copied"));
  if (!id) return id.error();
  if (auto remarked = remark_on_import(directory, *id, options, streams); !remarked) return remarked;
  streams.out("{\"snapshot_id\":\"" + id->hex() + "\"}\n");
  return {};
}

Result<> remove(const SnapshotDirectory& directory, const SnapshotId& id, const WorkerStreams& streams) {
  if (auto removed = directory.remove(id); !removed) return removed;
  streams.remark("removed snapshot " + id.hex());
  return {};
}

Result<> view(const SnapshotDirectory& directory, const SnapshotId& id, const WorkerStreams& streams) {
  if (!streams.ask) return invalid("nobody asks this view anything");
  return serve_view(directory, id, {streams.ask, streams.out});
}

// A question makes no directory: whoever mistyped one, or may not write there, is told so.
Result<> check_there(const WorkerOptions& options) {
  const std::string snapshots = options.directory + "/snapshots";
  if (::access(snapshots.c_str(), R_OK | X_OK) == 0) return {};
  const std::string shown = cli::printable(options.directory);
  if (errno != ENOENT) return system_error("the snapshots in " + shown + " may not be read");
  const std::string what = options.id.empty() ? "no snapshot" : "no snapshot '" + cli::printable(options.id) + "'";
  return not_found("there is " + what + " in " + shown +
                   ", which is not there yet; 'fathom snapshot list' shows what is where it looks");
}

}  // namespace

std::string answer_key(const Question& question) {
  std::string bytes;
  ByteWriter out(bytes);
  out.varint(kAnswersVersion);
  out.raw(question.id.view());
  out.raw(question.other.view());
  out.u8(static_cast<uint8_t>(question.verb));
  out.u8(static_cast<uint8_t>(question.format));
  out.u8(question.count_only ? 1 : 0);
  out.varint(question.limit);
  out.svarint(question.tid);
  out.string(question.from);
  out.string(question.to);
  out.u8(question.inlines ? 1 : 0);
  out.u8(question.by_instructions ? 1 : 0);
  const std::string other = question.other.is_zero() ? "" : question.other.hex() + "-";
  return question.id.hex() + "-" + other + sha256(bytes).hex();
}

Result<> work(const WorkerOptions& options, const WorkerStreams& streams) {
  if (options.task != WorkerTask::kImport) {
    auto there = check_there(options);
    const bool empty = !there && there.error().code == ErrorCode::kNotFound && options.task == WorkerTask::kList;
    if (empty) return list_nothing(options, streams);
    if (!there) return there;
  }
  auto directory = SnapshotDirectory::open(options.directory);
  if (!directory) return directory.error();
  auto question = with_ids(*directory, options);
  if (!question) return question.error();
  if (streams.confine) {
    if (auto confined = streams.confine(work_paths(options, *question)); !confined) return confined;
  }
  switch (options.task) {
    case WorkerTask::kAsk:
      return ask(*directory, *std::move(question), options, streams);
    case WorkerTask::kImport:
      return import(*directory, options, streams);
    case WorkerTask::kList:
      return list_snapshots(*directory, options, streams);
    case WorkerTask::kRemove:
      return remove(*directory, question->id, streams);
    case WorkerTask::kView:
      return view(*directory, question->id, streams);
  }
  return internal("no such task");
}

}  // namespace fathom
