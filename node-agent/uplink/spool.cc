#include "node-agent/uplink/spool.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "node-agent/uplink/spool_io.h"

namespace fathom::agent {

namespace {

using namespace spool_format;

iovec part_of(std::string_view bytes) {
  return {const_cast<char*>(bytes.data()), bytes.size()};
}

}  // namespace

Result<> Spool::begin_file() {
  if (!files_.empty()) {
    auto last = std::prev(files_.end());
    last->second.closed = true;
    drop_if_empty(last);
  }
  File file;
  file.path = options_.directory + "/" + spool_file_name(next_number_);
  file.same_boot = true;
  writing_ = Fd(::open(file.path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!writing_.open()) return exhausted(system_error("cannot make a spool file").message);
  ++next_number_;
  std::string head = encode_file_head(options_.boot_id);
  if (!write_all(writing_, 0, {part_of(head), part_of({}), part_of({})})) {
    Error error = exhausted(system_error("cannot write a spool file").message);
    writing_.close();
    ::unlink(file.path.c_str());
    return error;
  }
  file.bytes = head.size();
  bytes_ += head.size();
  files_.emplace(next_id_, std::move(file));
  return {};
}

Result<uint64_t> Spool::append(const SpoolHead& head, std::string_view otlp, bool taken) {
  uint64_t more = kEntryHeadBytes + padded(otlp.size()) + kFileHeadBytes;
  if (otlp.size() > kMostPayload || bytes_ + more > options_.limit_bytes) return exhausted("the spool is full");
  bool fits = writing_.open() && std::prev(files_.end())->second.bytes < options_.file_bytes;
  if (!fits) {
    if (Result<> begun = begin_file(); !begun) return begun.error();
  }
  if (Result<> written = write_entry(head, otlp); !written) return written.error();
  File& file = std::prev(files_.end())->second;
  file.entries.back().state = taken ? State::kTaken : State::kWaiting;
  waiting_ += !taken;
  return next_id_++;
}

Result<> Spool::write_entry(const SpoolHead& head, std::string_view otlp) {
  static constexpr char kZeros[kAlignment] = {};
  auto last = std::prev(files_.end());
  File& file = last->second;
  std::string front = encode_entry_head(head, otlp);
  std::string_view padding(kZeros, padded(otlp.size()) - otlp.size());
  if (!write_all(writing_, file.bytes, {part_of(front), part_of(otlp), part_of(padding)})) {
    Error error = exhausted(system_error("cannot write to the spool").message);
    // What is there of the entry would be a damaged place.
    if (::ftruncate(writing_.get(), static_cast<off_t>(file.bytes)) != 0) {
      file.closed = true;
      writing_.close();
    }
    return error;
  }
  uint64_t total = front.size() + otlp.size() + padding.size();
  file.entries.push_back({file.bytes, static_cast<uint32_t>(otlp.size()), head.spans, State::kWaiting});
  ++file.left;
  file.bytes += total;
  bytes_ += total;
  search_from_ = std::min(search_from_, last->first);
  return {};
}

Result<std::optional<SpooledBatch>> Spool::take_next() {
  bool others_wait = false;  // in files that cannot be read
  for (auto file = files_.lower_bound(search_from_); waiting_ > 0 && file != files_.end();) {
    uint64_t key = file->first;
    Result<std::optional<SpooledBatch>> batch = take_from(key);
    if (batch && batch->has_value()) return batch;
    others_wait = others_wait || !batch;
    file = files_.upper_bound(key);
    if (!others_wait && file != files_.end()) search_from_ = file->first;
  }
  if (others_wait) return unavailable("the files that hold what waits in the spool cannot be read");
  return std::optional<SpooledBatch>();
}

Result<std::optional<SpooledBatch>> Spool::take_from(uint64_t key) {
  // A file may go while its damaged entries are passed over.
  for (auto file = files_.find(key); file != files_.end(); file = files_.find(key)) {
    size_t& at = file->second.first_waiting;
    const std::vector<Entry>& entries = file->second.entries;
    while (at < entries.size() && entries[at].state != State::kWaiting) ++at;
    if (at == entries.size()) break;
    if (options_.now_nano() < file->second.reread_nano) return unavailable("not yet");
    Result<std::optional<SpooledBatch>> batch = load(file, at);
    if (!batch || batch->has_value()) return batch;
  }
  return std::optional<SpooledBatch>();
}

// An entry that is taken; a damaged one is dropped, and with it perhaps its file.
Result<std::optional<SpooledBatch>> Spool::load(Files::iterator file, size_t index) {
  Entry& entry = file->second.entries[index];
  Result<std::string> bytes = read_entry(file, entry);
  if (!bytes && bytes.error().code == ErrorCode::kUnavailable) return bytes.error();
  std::optional<SpoolEntryHead> head;
  if (bytes) head = decode_entry_head(*bytes);
  SpooledBatch batch;
  if (head) batch.otlp = bytes->substr(kEntryHeadBytes);
  if (!head || head->payload_bytes != batch.otlp.size() || head->payload_hash != hash_payload(batch.otlp)) {
    lose(file, entry);
    return std::optional<SpooledBatch>();
  }
  batch.id = file->first + index;
  batch.same_boot = file->second.same_boot;
  batch.head = head->batch;
  entry.state = State::kTaken;
  --waiting_;
  return std::optional<SpooledBatch>(std::move(batch));
}

// kUnavailable: not now; any other error: never again. Too few files or too little memory are no reason to lose what
// lies safely on the disk.
Result<std::string> Spool::read_entry(Files::iterator file, const Entry& entry) {
  if (!open_file(file)) {
    bool is_gone = errno == ENOENT || errno == ELOOP;
    Error error = system_error("cannot open " + file->second.path);
    return is_gone ? error : put_off(file, error);
  }
  std::optional<std::string> bytes = read_at(reading_, entry.offset, kEntryHeadBytes + entry.payload_bytes);
  if (bytes) {
    file->second.failed_reads = 0;
    file->second.reread_nano = 0;
    return *std::move(bytes);
  }
  Error error = system_error("cannot read " + file->second.path);
  // Of the next entry one read is enough to see whether it is as this one.
  if (file->second.failed_reads + 1 >= kMostFailedReads) return error;
  ++file->second.failed_reads;
  return put_off(file, error);
}

// Its entries wait until then, and the other files' go first.
Error Spool::put_off(Files::iterator file, Error error) {
  if (file->second.reread_nano == 0) log_warning(error.message + "; what it holds waits");
  file->second.reread_nano = options_.now_nano() + kRereadNano;
  reading_.close();
  return unavailable(std::move(error.message));
}

// For reading, and for marks where the file system takes them.
bool Spool::open_file(Files::iterator file) {
  if (reading_.open() && reading_key_ == file->first) return true;
  constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  reading_key_ = file->first;
  reading_ = Fd(::open(file->second.path.c_str(), O_RDWR | kFlags));
  bool read_only = !reading_.open() && (errno == EROFS || errno == EACCES || errno == EPERM);
  if (read_only) reading_ = Fd(::open(file->second.path.c_str(), O_RDONLY | kFlags));
  return reading_.open();
}

void Spool::lose(Files::iterator file, Entry& entry) {
  count_damage(entry.spans);
  --waiting_;
  set_gone(file, entry);
}

Spool::Place Spool::place_of(uint64_t id) {
  auto file = files_.upper_bound(id);
  if (file == files_.begin()) return {};
  --file;
  size_t index = id - file->first;
  if (index >= file->second.entries.size()) return {};
  return {file, &file->second.entries[index]};
}

void Spool::release(uint64_t id) {
  Place place = place_of(id);
  if (place.entry == nullptr || place.entry->state != State::kTaken) return;
  place.entry->state = State::kWaiting;
  ++waiting_;
  File& file = place.file->second;
  file.first_waiting = std::min(file.first_waiting, static_cast<size_t>(place.entry - file.entries.data()));
  search_from_ = std::min(search_from_, place.file->first);
}

void Spool::remove(uint64_t id) {
  Place place = place_of(id);
  if (place.entry == nullptr || place.entry->state == State::kGone) return;
  waiting_ -= place.entry->state == State::kWaiting;
  set_gone(place.file, *place.entry);
}

// On disk, too, unless the whole file goes: a restarted agent would send it again otherwise.
void Spool::set_gone(Files::iterator file, Entry& entry) {
  entry.state = State::kGone;
  if (--file->second.left == 0) {
    bool is_last = std::next(file) == files_.end();
    if (is_last) writing_.close();
    file->second.closed = true;
  } else if (!mark_gone(file, entry)) {
    std::vector<size_t>& unmarked = file->second.unmarked;
    if (unmarked.empty()) log_warning("cannot mark what is sent of " + file->second.path + "; that is tried again");
    unmarked.push_back(static_cast<size_t>(&entry - file->second.entries.data()));
  }
  drop_if_empty(file);
}

bool Spool::mark_gone(Files::iterator file, const Entry& entry) {
  if (!open_file(file)) return false;
  auto at = static_cast<off_t>(entry.offset + kStateOffset);
  if (::pwrite(reading_.get(), &kDone, sizeof kDone, at) == sizeof kDone) return true;
  reading_.close();  // it may be one that can only be read
  return false;
}

void Spool::mark_left(Files::iterator file) {
  std::vector<size_t>& unmarked = file->second.unmarked;
  while (!unmarked.empty() && mark_gone(file, file->second.entries[unmarked.back()])) unmarked.pop_back();
}

void Spool::tend() {
  for (auto file = files_.begin(); file != files_.end();) {
    auto next = std::next(file);
    if (file->second.left > 0) mark_left(file);
    drop_if_empty(file);
    file = next;
  }
}

// A file that cannot be deleted counts on, as it is on the disk: a restarted agent would send what is in it.
void Spool::drop_if_empty(Files::iterator file) {
  if (!file->second.closed || file->second.left > 0) return;
  if (reading_key_ == file->first) reading_.close();
  if (::unlink(file->second.path.c_str()) != 0 && errno != ENOENT) {
    if (!std::exchange(file->second.stays, true))
      log_warning(system_error("cannot remove " + file->second.path).message);
    return;
  }
  bytes_ -= file->second.bytes;
  files_.erase(file);
}

void Spool::count_damage(uint64_t spans) {
  damaged_spans_ += spans;
  lost_spans_.add(spans);
}

}  // namespace fathom::agent
