// Spool: batches on disk while the collector is away: bounded, in order, and there again after the agent was killed.
//
// Purpose: what lies here is no longer kept in programs' memory. Entries are waiting, taken (somebody sends them) or
// gone; what was taken and not removed waits again after a restart. Nothing is synced: the files are to outlive this
// process, which the page cache does; were the host to die, the programs' last spans would be lost with it anyway, and
// a sync per batch would cost more than the batch. Thread safety: none, one thread (SpoolThread). Ownership: the
// directory and every *.spool file in it. Errors: kExhausted, the spool or the disk is full; kCorrupt, an entry is
// damaged: it is gone then, and counted in fathom_agent_lost_spans_total{reason="spool_damaged"}; kUnavailable, what
// waits cannot be read for now. A file that cannot be read keeps back no other; one that cannot be written to, because
// its file system turned read-only, is read all the same, and what is acknowledged of it is marked when that can be.
// docs/formats/spool.md has the bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/metrics.h"
#include "base/result.h"
#include "base/time.h"
#include "node-agent/uplink/spool_format.h"

namespace fathom::agent {

struct SpoolOptions {
  std::string directory;
  uint64_t limit_bytes = 256ull << 20;  // of files
  uint64_t file_bytes = 8ull << 20;     // a file that has so much is closed, and another begun
  BootId boot_id{};
  std::function<uint64_t()> now_nano = now_monotonic_nano;
};

struct SpooledBatch {
  uint64_t id = 0;
  SpoolHead head;
  bool same_boot = false;  // head.built.boot_nano is of the boot that still is
  std::string otlp;
};

class Spool {
 public:
  static constexpr uint64_t kRereadNano = 10 * kNanosPerSecond;  // until a file that could not be read is tried again
  // A place of the disk that cannot be read must not take the spool's room for ever.
  static constexpr uint32_t kMostFailedReads = 60;

  static Result<std::unique_ptr<Spool>> open(SpoolOptions options);
  ~Spool() { tend(); }

  // `taken`: the batch is under way already, take_next() is not to hand it out.
  Result<uint64_t> append(const SpoolHead& head, std::string_view otlp, bool taken);
  // The oldest that waits and can be read; nothing when none waits. Damaged ones are passed over; one that cannot be
  // read now is not damaged: it waits on, and where nothing else does the answer is kUnavailable.
  Result<std::optional<SpooledBatch>> take_next();
  void release(uint64_t id);  // waits again
  void remove(uint64_t id);
  // Tries again what could not be marked as sent, or deleted: to be called now and then.
  void tend();
  // For what is appended from now on; nothing that lies there goes.
  void set_limit(uint64_t bytes) { options_.limit_bytes = bytes; }

  uint64_t bytes() const { return bytes_; }
  uint64_t waiting() const { return waiting_; }
  uint64_t damaged_spans() const { return damaged_spans_; }

 private:
  enum class State : uint8_t { kWaiting, kTaken, kGone };
  struct Entry {
    uint64_t offset = 0;
    uint32_t payload_bytes = 0;
    uint32_t spans = 0;
    State state = State::kWaiting;
  };
  struct File {
    std::string path;
    bool same_boot = false;
    bool closed = false;  // nothing is appended any more
    uint64_t bytes = 0;
    size_t left = 0;           // entries that are not gone
    size_t first_waiting = 0;  // no entry before this one waits
    std::vector<Entry> entries;
    std::vector<size_t> unmarked;  // those that are gone, and the disk does not know
    uint64_t reread_nano = 0;      // it could not be read, and is not tried before
    uint32_t failed_reads = 0;     // in a row
    bool stays = false;            // it could not be deleted
  };
  using Files = std::map<uint64_t, File>;  // by the id of the first entry
  struct Place {
    Files::iterator file;
    Entry* entry = nullptr;
  };

  explicit Spool(SpoolOptions options) : options_(std::move(options)) {}
  Result<> make_directory() const;
  Result<> scan();
  void scan_file(const std::string& path);
  std::optional<uint64_t> scan_entries(const Fd& fd, uint64_t size, File& file);
  void add_file(File file);
  Result<> begin_file();
  Result<> write_entry(const SpoolHead& head, std::string_view otlp);
  Place place_of(uint64_t id);
  Result<std::optional<SpooledBatch>> load(Files::iterator file, size_t index);
  Result<std::optional<SpooledBatch>> take_from(uint64_t key);
  Result<std::string> read_entry(Files::iterator file, const Entry& entry);
  Error put_off(Files::iterator file, Error error);
  bool open_file(Files::iterator file);
  bool mark_gone(Files::iterator file, const Entry& entry);
  void mark_left(Files::iterator file);
  void lose(Files::iterator file, Entry& entry);
  void set_gone(Files::iterator file, Entry& entry);
  void drop_if_empty(Files::iterator file);
  void forget_file(Files::iterator file);
  void count_damage(uint64_t spans);

  SpoolOptions options_;  // constant but for the limit
  Files files_;
  uint64_t next_id_ = 1;
  uint64_t next_number_ = 1;  // of a file, in its name
  uint64_t bytes_ = 0;
  uint64_t waiting_ = 0;
  uint64_t damaged_spans_ = 0;
  // Counted from the start, at 0.
  Counter& lost_spans_ = counter("fathom_agent_lost_spans_total", "Spans that were lost on this node, by reason.",
                                 label("reason", "spool_damaged"));
  Counter& damaged_places_ = counter("fathom_agent_spool_damaged_total",
                                     "Places in spool files that hold no batch, though one should be there.");
  uint64_t search_from_ = 0;  // no file before this key has an entry that waits
  Fd writing_;                // the last file, unless it is closed
  Fd reading_;
  uint64_t reading_key_ = 0;
};

}  // namespace fathom::agent
