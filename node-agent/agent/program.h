// Program: what the agent knows of one traced program: its pool, its connections, and whether it is still alive.
//
// Purpose: the agent reads a pool while its program may write to it, and then to its end. A program has ended when its
// process is gone; or when it has no connection for a while, and its process cannot be inspected or no longer maps the
// pool (it called exec). Thread safety: none, belongs to the agent's loop. Ownership: of the pool. Units: nanoseconds
// of the monotonic clock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "node-agent/agent/look_budget.h"
#include "node-agent/agent/map_reader.h"
#include "node-agent/agent/process_life.h"
#include "node-agent/capture/node_threads.h"
#include "node-agent/pool/pool_reader.h"
#include "node-agent/redaction/current_redaction.h"
#include "node-agent/socket/listener.h"

namespace fathom::agent {

// Identifies a pool's memory, even if its descriptor arrives several times or from several processes.
struct PoolKey {
  uint64_t device = 0;
  uint64_t inode = 0;
  auto operator<=>(const PoolKey&) const = default;
};

// Identifies a program. A supervisor keeps the program's pools under names that encode this.
struct ProgramId {
  uid_t uid = 0;
  ProcessId process;
  PoolKey key;

  // The first letter of a stored name: which of the program's pools it is.
  static constexpr char kSpans = 'p', kDetail = 'd';
  std::string store_name(char kind = kSpans) const;  // short: FdStore::kMostNamesBytes limits all names together
  static std::optional<ProgramId> of_store_name(const std::string& name, char kind = kSpans);
};

struct ProgramTimes {
  uint64_t grace_nano = 5'000'000'000;     // to reconnect after a connection ended, or after the agent restarted
  uint64_t look_nano = 500'000'000;        // between two checks of a process
  uint64_t maps_nano = 10'000'000'000;     // between two checks of its memory map
  uint64_t unseen_nano = 600'000'000'000;  // of a living process whose map cannot be read
  uint64_t untold_nano = 12'000'000'000;   // to report the losses of a program that has ended: two reports
};

class Program : public std::enable_shared_from_this<Program> {
 public:
  // `redaction`: outlives the program; null: no rules.
  Program(const ProgramId& id, PoolReader reader, const ProgramTimes& times, uint64_t now_nano,
          const CurrentRedaction* redaction = nullptr)
      : id_(id),
        stored_name_(id.store_name()),
        times_(times),
        current_redaction_(redaction),
        alone_since_nano_(now_nano),
        reader_(std::move(reader)) {
    know_threads_of(id.process.pid);
  }

  const ProgramId& id() const { return id_; }
  // The name when the pool arrived. A later connection may show that the pool belongs to another process.
  const std::string& stored_name() const { return stored_name_; }
  PoolReader& reader() { return reader_; }

  void connected(ConnectionId connection, const Peer& peer);
  void disconnected(ConnectionId connection, uint64_t now_nano);
  const std::set<ConnectionId>& connections() const { return connections_; }
  // Checks whether the process lives, if a check is due; and its memory map, if the reader is free.
  void look(uint64_t now_nano, MapReader& maps);
  bool ended() const { return ended_; }
  uint64_t ended_since_nano() const { return ended_since_nano_; }
  // The process is gone. False for a program that called exec(), or that can no longer be inspected.
  bool died() const { return ended_ && died_; }
  uint64_t held_bytes() const { return reader_.file().memory_bytes(); }
  // Counts what was read after the end. False: more than twice the size of the pool, so another process still writes to
  // it; reading stops.
  bool note_read_after_end(const Collected& collected);

  // The redacted resource, encoded as OTLP; encoded again when the program, or somebody the rules, have changed.
  const std::string& resource();
  // Its service.name; empty: not known yet.
  const std::string& service();
  const std::string& service_namespace();
  // The rules that service() and resource() are redacted by; null: no rules.
  const std::shared_ptr<const Redaction>& redaction();
  // The process id on the node; 0: not known.
  pid_t node_pid() const { return threads_pid_; }
  // Its thread ids are not the node's: it is in another pid namespace.
  bool has_own_thread_ids() const { return threads_->translates(); }
  // For one batch: translates the program's thread ids to the node's; nothing: not known. Lists the threads at most
  // once, and never if the program has the node's numbers. The program and `looks` must outlive the function.
  std::function<std::optional<uint32_t>(uint32_t program_tid)> node_tids(LookBudget& looks);

  // Its pool is not read for `shortest_nano`, and then only if many spans wait, until `longest_nano` is over.
  void pause_collecting(uint64_t shortest_nano, uint64_t longest_nano);
  bool is_due(uint64_t now_nano);

  // ---- the drain's state
  bool queued = false;
  bool sending = false;
  bool gone = false;                  // released: its pool may have another reader by now
  bool read_to_end = false;           // ended, and nothing more is read
  bool final_round = false;           // the agent stops, and this pool was read to its end
  uint64_t read_to_end_nano = 0;      // when `read_to_end` was first seen
  uint64_t fruitless_pause_nano = 0;  // grows while the pool has bytes but no spans
  uint64_t bytes_after_end = 0;
  size_t last_batch_bytes = 0;

  // ---- WatchedProgram::serial (node-agent/triggers); 0: not watched
  uint32_t watch_serial = 0;

 private:
  void know_threads_of(pid_t pid);
  bool look_for_threads(uint64_t now_nano, LookBudget& looks);
  bool is_over(uint64_t now_nano, MapReader& maps);
  bool has_left_pool(uint64_t now_nano, MapReader& maps);
  void note_map(uint64_t alone_since_nano, std::optional<bool> maps);

  ProgramId id_;
  const std::string stored_name_;
  const ProgramTimes times_;
  const CurrentRedaction* const current_redaction_;
  std::set<ConnectionId> connections_;
  uint64_t alone_since_nano_;
  uint64_t next_look_nano_ = 0;
  uint64_t next_maps_nano_ = 0;
  uint64_t soonest_collect_nano_ = 0;
  uint64_t next_collect_nano_ = 0;
  bool left_pool_ = false;  // the last check of its map found no mapping of the pool,
  bool unseen_ = false;     // or could not read the map
  bool ended_ = false;
  bool died_ = false;
  uint64_t ended_since_nano_ = 0;
  PoolReader reader_;
  std::optional<NodeThreads> threads_;
  pid_t threads_pid_ = 0;
  std::shared_ptr<const Redaction> redaction_;
  std::string pool_resource_;  // as the program wrote it
  std::string resource_;
  std::string service_;
  std::string service_namespace_;
};

}  // namespace fathom::agent
