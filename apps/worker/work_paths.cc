#include "apps/worker/work_paths.h"

#include <string>

#include "apps/worker/work.h"
#include "snapshot/symbols/debug_file.h"

namespace fathom {

namespace {

using snapshot::Question;
using Paths = std::vector<AllowedPath>;

// Drafts are renamed to where they belong, and Landlock lets no file gain rights that way: these are all that there
// are.
constexpr uint32_t kEveryRight = kReadFiles | kListFiles | kWriteFiles | kCreateFiles | kRemoveFiles;

void allow_drafts(const std::string& directory, Paths& paths) {
  paths.push_back({directory + "/drafts", kEveryRight});
  // The names of drafts tell one boot of the host from another.
  paths.push_back({"/proc/sys/kernel/random/boot_id", kReadFiles});
}

void allow_snapshot(const std::string& directory, const snapshot::SnapshotId& id, Paths& paths) {
  if (!id.is_zero()) paths.push_back({directory + "/snapshots/" + id.hex() + ".snapshot", kReadFiles});
}

void allow_code(const std::string& directory, Paths& paths) {
  paths.push_back({directory + "/images", kReadFiles});
  paths.push_back({snapshot::kDebugRoot, kReadFiles});
}

void allow_question(const WorkerOptions& options, const Question& question, Paths& paths) {
  allow_snapshot(options.directory, question.id, paths);
  allow_snapshot(options.directory, question.other, paths);
  allow_code(options.directory, paths);
  // Below "/" lies all that the user has: its source text comes through the opener.
  for (const auto& source : question.source_directories) {
    paths.push_back({source.to == "/" ? "/usr" : source.to, kReadFiles});
  }
  if (!question.source_directories.empty()) return;  // such an answer is not kept
  allow_drafts(options.directory, paths);
  paths.push_back({options.directory + "/results", kCreateFiles | kRemoveFiles});
  paths.push_back({options.directory + "/results/" + answer_key(question), kReadFiles});
}

// Snapshots name images, and images that none names go.
void allow_removal(const std::string& directory, uint32_t more, Paths& paths) {
  paths.push_back({directory + "/snapshots", kReadFiles | kListFiles | kRemoveFiles | more});
  paths.push_back({directory + "/images", kListFiles | kRemoveFiles | more});
  paths.push_back({directory + "/results", kListFiles | kRemoveFiles});
  paths.push_back({directory + "/pulled", kRemoveFiles});
}

void allow_import(const WorkerOptions& options, Paths& paths) {
  allow_drafts(options.directory, paths);
  allow_removal(options.directory, kReadFiles | kCreateFiles, paths);
  const auto allow_files = [&](const std::vector<snapshot::ImageFile>& files) {
    for (const snapshot::ImageFile& file : files) paths.push_back({file.path, kReadFiles});
  };
  if (options.raw) {
    paths.push_back({options.raw->path, kReadFiles});
    return allow_files(options.raw->images);
  }
  paths.push_back({options.perf->path, kReadFiles | kListFiles});  // perf also writes directories
  allow_files(options.perf->images);
  if (!options.opens_host_code) {
    for (const std::string& place : {options.perf->symfs, options.perf->debug_directory}) {
      if (!place.empty()) paths.push_back({place, kReadFiles});
    }
  }
  const std::string& kcore = options.perf->kcore;
  if (kcore.empty()) return;
  paths.push_back({kcore, kReadFiles});
  paths.push_back({kcore.substr(0, kcore.rfind('/') + 1) + "kallsyms", kReadFiles});
}

}  // namespace

std::vector<AllowedPath> work_paths(const WorkerOptions& options, const Question& question) {
  Paths paths;
  switch (options.task) {
    case WorkerTask::kAsk:
      allow_question(options, question, paths);
      break;
    case WorkerTask::kImport:
      allow_import(options, paths);
      break;
    case WorkerTask::kList:
      paths.push_back({options.directory + "/snapshots", kReadFiles | kListFiles});
      break;
    case WorkerTask::kRemove:
      allow_removal(options.directory, 0, paths);
      break;
    case WorkerTask::kView:
      allow_snapshot(options.directory, question.id, paths);
      allow_code(options.directory, paths);
      break;
  }
  return paths;
}

}  // namespace fathom
