// How a Spool finds what an earlier one left.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "node-agent/uplink/spool.h"
#include "node-agent/uplink/spool_io.h"

namespace fathom::agent {

using namespace spool_format;
namespace fs = std::filesystem;

Result<std::unique_ptr<Spool>> Spool::open(SpoolOptions options) {
  std::unique_ptr<Spool> spool(new Spool(std::move(options)));
  if (Result<> made = spool->make_directory(); !made) return made.error();
  if (Result<> scanned = spool->scan(); !scanned) return scanned.error();
  return spool;
}

Result<> Spool::make_directory() const {
  std::error_code error;
  fs::create_directories(options_.directory, error);
  if (error) return internal("cannot make the spool's directory " + options_.directory + ": " + error.message());
  if (::access(options_.directory.c_str(), R_OK | W_OK | X_OK) != 0) {
    return system_error("cannot use the spool's directory " + options_.directory);
  }
  return {};
}

Result<> Spool::scan() {
  std::vector<uint64_t> numbers;
  std::error_code error;
  for (fs::directory_iterator at(options_.directory, error), end; !error && at != end; at.increment(error)) {
    if (auto number = spool_file_number(at->path().filename().string())) numbers.push_back(*number);
  }
  if (error) return internal("cannot list the spool's directory " + options_.directory + ": " + error.message());
  std::sort(numbers.begin(), numbers.end());
  for (uint64_t number : numbers) scan_file(options_.directory + "/" + spool_file_name(number));
  if (!numbers.empty()) next_number_ = numbers.back() + 1;
  return {};
}

void Spool::scan_file(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!fd.open() && errno != ELOOP) return log_warning(system_error("cannot open " + path).message);
  if (!fd.open() || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    log_warning("the spool holds something that is no file of it: " + path);
    return;
  }
  File file;
  file.path = path;
  file.closed = true;
  file.bytes = static_cast<uint64_t>(status.st_size);
  std::optional<std::string> front = read_at(fd, 0, kFileHeadBytes);
  if (front && is_of_other_version(*front))
    return log_warning("a spool file of another version of the agent is left alone: " + path);
  std::optional<BootId> boot = front ? decode_file_head(*front) : std::nullopt;
  file.same_boot = boot == options_.boot_id;
  std::optional<uint64_t> damaged = front ? scan_entries(fd, file.bytes, file) : std::nullopt;
  if (!damaged) return log_warning("a spool file cannot be read, and is left for the next start: " + path);
  if (!boot && file.bytes >= kFileHeadBytes) ++*damaged;  // shorter: the agent was killed while it made the file
  if (*damaged > 0) log_warning("a spool file has damaged places: " + path);
  damaged_places_.add(*damaged);
  add_file(std::move(file));
}

// The number of damaged places; nothing when the file cannot be read.
std::optional<uint64_t> Spool::scan_entries(const Fd& fd, uint64_t size, File& file) {
  uint64_t damaged = 0;
  for (uint64_t offset = kFileHeadBytes; offset < size;) {
    std::optional<std::string> front = read_at(fd, offset, kEntryHeadBytes);
    if (!front) return std::nullopt;
    std::optional<SpoolEntryHead> head = decode_entry_head(*front);
    // What ends beyond the file was being written when the agent was killed: nobody was told that it is kept, so the
    // pool still has it. Nor is anything looked for in there, which is text of programs.
    if (offset + (head ? head->total_bytes() : kEntryHeadBytes) > size) break;
    if (head) {
      State state = head->state == kDone ? State::kGone : State::kWaiting;
      file.entries.push_back({offset, head->payload_bytes, head->batch.spans, state});
      offset += head->total_bytes();
      continue;
    }
    ++damaged;
    std::optional<uint64_t> next = next_entry(fd, offset + kAlignment, size);
    if (!next) return std::nullopt;
    offset = *next;
  }
  return damaged;
}

void Spool::add_file(File file) {
  for (const Entry& entry : file.entries) file.left += entry.state != State::kGone;
  waiting_ += file.left;
  bytes_ += file.bytes;
  uint64_t key = next_id_;
  next_id_ += std::max<size_t>(file.entries.size(), 1);
  auto added = files_.emplace(key, std::move(file)).first;
  drop_if_empty(added);
}

}  // namespace fathom::agent
