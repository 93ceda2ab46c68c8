// CaptureStore: the interface of a store of captures. Implementations: RocksDB and files (store/captures), and a model
// in memory (store/model) that defines the expected results.
//
// Definitions:
//  - A capture is known by its id. The same id with the same content is one capture, however often it is sent; the same
//    id with other content is refused for good. What retention dropped is not remembered.
//  - Captures may share a content: if a capture here has the announced hash and size, the client need not send the
//    content.
//  - A capture belongs to a range of time by the start of its window; ranges are [from, to).
//  - Order of find(): by start, then id, both descending.
//  - If the budget of bytes is exceeded, the captures received first are dropped (of equal ones, the lesser id first)
//    in the step that stores a new one; the budget is never exceeded. A capture takes capture_charge_bytes() of it; a
//    shared content is counted once. A capture larger than the whole budget is rejected for good.
//  - A skipped capture is no capture: only skipped_of_trace() finds it. Skipped captures have a reserved part of the
//    budget, a page each, and age as captures do. They are stored in pieces of skipped_captures_at_once(). If a piece
//    finds no room, skipped_captures_to_drop() are dropped first: repeatedly the oldest one of the node with the most
//    skipped captures (of equal nodes, the one with the greater id).
//
// Thread safety: every method from any thread; of one writer, one thread at a time. Waiting: begin(), append() and
// finish() may wait for the disk, finish() for a few syncs of it: never call them from a thread that has connections
// to serve (gRPC's, the loop of HTTP). Ownership: writers should be gone before the store; one that is not answers that
// the store is closed. Errors: kUnavailable may be tried again, kInvalid and kExhausted not. Losses: fathom_captures_*.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/capture.h"
#include "store/span_store.h"

namespace fathom::store {

struct StoredCapture {
  CaptureInfo info;
  bool damaged = false;  // its content is gone or has another size; an agent that has it may send it again
  bool operator==(const StoredCapture&) const = default;
};

// Maximum that a query gets of a trace. A node may report a trace any number of times; that must not make queries of
// the trace's captures more expensive.
inline constexpr size_t kMostSkippedOfTrace = 1'000;

struct CaptureProcess {
  NodeId node_id;
  uint32_t pid = 0;
};

struct CaptureFilter {
  TimeRange range;
  std::optional<TraceId> trace_id;
  std::optional<CaptureProcess> process;
  std::optional<std::string> service;
  std::optional<CaptureTrigger> trigger;

  bool matches(const CaptureInfo& info) const;
};

// Where a page ended. Captures stored meanwhile are on later pages if their start is there; none is repeated.
struct CaptureCursor {
  uint64_t start_unix_nano = 0;
  CaptureId id;
  bool operator==(const CaptureCursor&) const = default;
};

struct CapturePage {
  std::vector<StoredCapture> rows;
  std::optional<CaptureCursor> next;  // nothing when this was the last page
};

struct CaptureStats {
  uint64_t captures = 0;
  uint64_t skipped = 0;
  uint64_t bytes = 0;  // as the budget counts them
  uint64_t damaged = 0;
  uint64_t writers = 0;                    // uploads under way
  uint64_t oldest_received_unix_nano = 0;  // 0: there is none
  bool operator==(const CaptureStats&) const = default;
};

// One upload. Destroyed without finish(): abandoned, and nothing of it is left. One that is not called for
// `capture_idle_nano` is abandoned too; its calls answer kUnavailable from then on.
class CaptureWriter {
 public:
  virtual ~CaptureWriter() = default;
  // True: this capture is stored (if a hash was announced), or another one with its content. The client need not send
  // anything; finish() stores what is missing. If the content was dropped meanwhile, finish() returns kRetryable.
  virtual bool is_stored_already() const = 0;
  virtual uint64_t size_bytes() const = 0;  // of what was taken
  // `offset` must be size_bytes(); another one is kInvalid and changes nothing. kExhausted: larger than a capture may
  // be, or than was announced. After any other error the upload is over, and finish() repeats it.
  virtual Result<> append(uint64_t offset, std::string_view bytes) = 0;
  // kDurable: the capture is there, and neither kill -9 nor a power cut takes it away (with Durability::kOs: the
  // former). May be called again; it gives the same answer.
  virtual AppendResult finish() = 0;
};

class CaptureStore {
 public:
  virtual ~CaptureStore() = default;

  virtual Result<std::unique_ptr<CaptureWriter>> begin(const CaptureInfo& info) = 0;

  // kNotFound when it is not stored.
  virtual Result<StoredCapture> info(const CaptureId& id) = 0;
  // All of a trace, by start, then id, ascending.
  virtual Result<std::vector<StoredCapture>> of_trace(const TraceId& trace_id, QueryBudget& budget) = 0;
  // Those that have any, ascending.
  virtual Result<std::vector<TraceId>> traces(QueryBudget& budget) = 0;
  virtual Result<CapturePage> find(const CaptureFilter& filter, size_t limit,
                                   const std::optional<CaptureCursor>& cursor, QueryBudget& budget) = 0;
  // At most `size` bytes from `offset`; fewer at the end, none after it. kCorrupt: damaged. Only the size is checked; a
  // client that reads all bytes can compare the hash.
  virtual Result<std::string> read(const CaptureId& id, uint64_t offset, size_t size) = 0;

  // Stores agents' reports of skipped captures. Does not drop captures and does not sync: a power cut may lose the last
  // reports. Reports that are not stored are counted.
  virtual Result<> put_skipped(const std::vector<SkippedCapture>& skipped) = 0;
  // Ascending by time, then in the order of put_skipped(); the first kMostSkippedOfTrace.
  virtual Result<std::vector<SkippedCapture>> skipped_of_trace(const TraceId& trace_id, QueryBudget& budget) = 0;

  // Drops what was received before.
  virtual Result<> drop_before(uint64_t received_unix_nano) = 0;
  virtual CaptureStats stats() = 0;
  // All known losses that may have destroyed captures, in no order. Of these, 0 in `most_batches` means that no batch
  // of spans is lost. Reads no files.
  virtual std::vector<Loss> losses() { return {}; }
};

}  // namespace fathom::store
