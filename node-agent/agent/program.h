// Program: one traced program as the agent knows it: its pool, its connections, and whether it is still alive.
//
// Purpose: a pool is read as long as its program may write to it, and then to its end. A program is over when its
// process is gone; or when it has no connection any more and either cannot be seen, or no longer maps the pool (it
// called exec). Thread safety: none, belongs to the agent's loop. Ownership: of the pool. Units: nanoseconds of the
// monotonic clock.
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
#include "node-agent/socket/listener.h"

namespace fathom::agent {

// Which memory: however often and by whomever its descriptor is handed over.
struct PoolKey {
  uint64_t device = 0;
  uint64_t inode = 0;
  auto operator<=>(const PoolKey&) const = default;
};

// What is known of a program beside its pool; also the name under which a supervisor keeps the pool.
struct ProgramId {
  uid_t uid = 0;
  ProcessId process;
  PoolKey key;

  // The names' first letter: which of a program's pools it is.
  static constexpr char kSpans = 'p', kDetail = 'd';
  std::string store_name(char kind = kSpans) const;  // short: FdStore::kMostNamesBytes is for all of them
  static std::optional<ProgramId> of_store_name(const std::string& name, char kind = kSpans);
};

struct ProgramTimes {
  uint64_t grace_nano = 5'000'000'000;     // to come back after a connection ended, or after our own restart
  uint64_t look_nano = 500'000'000;        // between two looks at a process
  uint64_t maps_nano = 10'000'000'000;     // between two looks at its memory map
  uint64_t unseen_nano = 600'000'000'000;  // of a living process whose map cannot be read
  uint64_t untold_nano = 12'000'000'000;   // for the collector to hear what a program lost that is over: two reports
};

class Program : public std::enable_shared_from_this<Program> {
 public:
  Program(const ProgramId& id, PoolReader reader, const ProgramTimes& times, uint64_t now_nano)
      : id_(id), stored_name_(id.store_name()), times_(times), alone_since_nano_(now_nano), reader_(std::move(reader)) {
    know_threads_of(id.process.pid);
  }

  const ProgramId& id() const { return id_; }
  // What it was when the pool came: the process behind a pool can turn out to be another one.
  const std::string& stored_name() const { return stored_name_; }
  PoolReader& reader() { return reader_; }

  void connected(ConnectionId connection, const Peer& peer);
  void disconnected(ConnectionId connection, uint64_t now_nano);
  const std::set<ConnectionId>& connections() const { return connections_; }
  // Looks after the process when it is time to; at its memory map, when the reader is free.
  void look(uint64_t now_nano, MapReader& maps);
  bool ended() const { return ended_; }
  uint64_t ended_since_nano() const { return ended_since_nano_; }
  // Its process is gone: it did not execute another program, nor was it lost from sight.
  bool died() const { return ended_ && died_; }
  uint64_t held_bytes() const { return reader_.file().memory_bytes(); }
  // What was read of one that is over. False: more than its pool holds, so somebody writes to it who is not gone, and
  // nothing more is read.
  bool note_read_after_end(const Collected& collected);

  // The resource as OTLP has it, renewed when the program changed it.
  const std::string& resource();
  // Its service.name; empty: it has said none yet.
  const std::string& service();
  const std::string& service_namespace();
  // Its process, as the node numbers it; 0: not known.
  pid_t node_pid() const { return threads_pid_; }
  // For the spans of one batch: the node's numbers of its threads; nothing: not known. Looks for threads at most once,
  // and not where the node's numbers are the program's. Both this and `looks` must outlive it.
  std::function<std::optional<uint32_t>(uint32_t program_tid)> node_tids(LookBudget& looks);

  // ---- what the drain remembers of it
  bool queued = false;
  bool sending = false;
  bool gone = false;                  // let go: its pool may have another reader by now
  bool read_to_end = false;           // ended, and nothing is left
  bool final_round = false;           // the agent stops, and this pool was read once more
  uint64_t read_to_end_nano = 0;      // when that was first seen
  uint64_t next_collect_nano = 0;     // not before
  uint64_t fruitless_pause_nano = 0;  // grows while there are bytes and no spans
  uint64_t bytes_after_end = 0;
  size_t last_batch_bytes = 0;

  // ---- what who looks for triggers knows it by (node-agent/triggers); 0: not at all
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
  std::set<ConnectionId> connections_;
  uint64_t alone_since_nano_;
  uint64_t next_look_nano_ = 0;
  uint64_t next_maps_nano_ = 0;
  bool left_pool_ = false;  // what the last look at its map said,
  bool unseen_ = false;     // or that it said nothing
  bool ended_ = false;
  bool died_ = false;
  uint64_t ended_since_nano_ = 0;
  PoolReader reader_;
  std::optional<NodeThreads> threads_;
  pid_t threads_pid_ = 0;
  std::string resource_;
  std::string service_;
  std::string service_namespace_;
};

}  // namespace fathom::agent
