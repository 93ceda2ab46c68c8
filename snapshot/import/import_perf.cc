#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "snapshot/import/draft.h"
#include "snapshot/import/image_finder.h"
#include "snapshot/import/import.h"
#include "snapshot/import/perf_packets.h"
#include "snapshot/import/perf_recording.h"
#include "snapshot/import/ran_here.h"

namespace fathom::snapshot {
namespace {

constexpr size_t kMostThreadFiles = 65'536;

bool is_this_host(const std::string& name) {
  char own[256] = {};
  return !name.empty() && ::gethostname(own, sizeof own - 1) == 0 && name == own;
}

bool is_there(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

// perf writes a directory where it keeps more than records: the kernel's code, or a file for each of its rings.
PerfImport within_directory(PerfImport options) {
  if (!is_there(options.path + "/data")) return options;
  const std::string kcore = options.path + "/kcore_dir/kcore";
  if (options.kcore.empty() && is_there(kcore)) options.kcore = kcore;
  options.path += "/data";
  return options;
}

Result<Fd> open_file(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.open()) return system_error("cannot read " + path);
  return file;
}

// The N of the files data.N in a directory, in order.
Result<std::vector<uint32_t>> thread_numbers(const std::string& directory) {
  constexpr std::string_view kPrefix = "data.";
  std::vector<uint32_t> numbers;
  std::error_code failed;
  for (std::filesystem::directory_iterator at(directory, failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename();
    uint32_t number = 0;
    const char* last = name.data() + name.size();
    if (!name.starts_with(kPrefix)) continue;
    const auto [stop, wrong] = std::from_chars(name.data() + kPrefix.size(), last, number);
    if (stop == last && wrong == std::errc()) numbers.push_back(number);
    if (numbers.size() > kMostThreadFiles) return exhausted(directory + " has more files of perf's than are read");
  }
  if (failed) return internal("cannot read the directory " + directory + ": " + failed.message());
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// The files data.N, and how many numbers are left out.
Result<uint64_t> open_threads(const std::string& directory, std::vector<Fd>& files) {
  auto numbers = thread_numbers(directory);
  if (!numbers) return numbers.error();
  for (uint32_t number : *numbers) {
    auto file = open_file(directory + "/data." + std::to_string(number));
    if (!file) return file.error();
    files.push_back(std::move(*file));
  }
  return numbers->empty() ? 0 : uint64_t{numbers->back()} + 1 - numbers->size();
}

// A file that nobody else sees, and that goes with its descriptor.
Result<Fd> make_spool(const SnapshotDirectory& directory) {
  auto path = directory.draft();
  if (!path) return path.error();
  Fd file(::open(path->c_str(), O_RDWR | O_CLOEXEC));
  const int failure = errno;
  ::unlink(path->c_str());
  errno = failure;
  if (!file.open()) return system_error("cannot write " + *path);
  return file;
}

Result<perf::PerfInput> open_input(const SnapshotDirectory& directory, const PerfImport& options) {
  auto data = open_file(options.path);
  if (!data) return data.error();
  auto spool = make_spool(directory);
  if (!spool) return spool.error();
  return perf::PerfInput{options.path, std::move(*data), {}, std::move(*spool)};
}

}  // namespace

Result<SnapshotId> import_perf_data(const SnapshotDirectory& directory, const PerfImport& given) {
  const PerfImport options = within_directory(given);
  auto input = open_input(directory, options);
  if (!input) return input.error();
  uint64_t left_out = 0;
  if (options.path != given.path) {
    auto opened = open_threads(given.path, input->threads);
    if (!opened) return opened.error();
    left_out = *opened;
  }
  auto recording = perf::read_perf_data(*input);
  if (!recording) return recording.error();
  Snapshot& snapshot = recording->snapshot;
  if (left_out != 0) snapshot.losses.push_back({perf::kThreadFilesMissing, left_out});
  keep_what_ran(snapshot);
  const ImageSearch search{options, recording->kernel, is_this_host(snapshot.host)};
  if (auto found = find_images(directory, search, snapshot); !found) return found.error();
  auto draft = Draft::begin(directory);
  if (!draft) return draft.error();
  if (auto copied = perf::copy_chunks(*input, *recording, draft->writer(), options.progress); !copied)
    return copied.error();
  return draft->publish(std::move(snapshot));
}

}  // namespace fathom::snapshot
