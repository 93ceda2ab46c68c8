#include "node-agent/agent/programs.h"

#include <sys/random.h>

#include <algorithm>
#include <cstdlib>

#include "base/time.h"

namespace fathom::agent {

namespace {

uint64_t random_instance() {
  uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) std::abort();
  return number | 1;  // 0 is nobody
}

Gauge& reading() {
  static Gauge& gauge = fathom::gauge("fathom_agent_programs", "Pools of programs that are being read.");
  return gauge;
}

// Each tick, of a pool that is dropped: some milliseconds at most.
constexpr uint64_t kDropBytes = PoolReader::kMostBatchBytes / 2;
constexpr int kDropsAtOnce = 4;

class CountingSink : public SpanSink {
 public:
  bool span(const SpanRecordView& /*span*/) override { return ++spans > 0; }
  uint64_t spans = 0;
};

PoolKey key_of(const PoolFile& file) {
  return {file.shape().device, file.shape().inode};
}

// A predecessor that was killed may have left it set.
void ask_for_marks(const PoolFile& file, bool wanted) {
  std::atomic<uint32_t>& marks = file.header().span_marks;
  if (wanted) {
    marks.fetch_or(pool::kReaderWantsMarks, std::memory_order_relaxed);
  } else {
    marks.fetch_and(~uint32_t{pool::kReaderWantsMarks}, std::memory_order_relaxed);
  }
}

}  // namespace

Programs::Programs(FdStore& store, AgentLosses& losses, const ProgramLimits& limits, const ProgramTimes& times,
                   bool marks_spans, const CurrentRedaction* redaction)
    : store_(store),
      losses_(losses),
      limits_(limits),
      times_(times),
      instance_(random_instance()),
      marks_spans_(marks_spans),
      redaction_(redaction) {
  reading().set(0);
}

Programs::~Programs() {
  for (const auto& [key, program] : programs_) ask_for_marks(program->reader().file(), false);
}

bool Programs::has_room(uid_t uid, uint32_t chunks) const {
  auto found = users_.find(uid);
  Held user = found == users_.end() ? Held{} : found->second;
  return all_.pools < limits_.most_pools && all_.chunks + chunks <= limits_.most_chunks &&
         user.pools < limits_.most_pools_per_user && user.chunks + chunks <= limits_.most_chunks_per_user;
}

std::shared_ptr<Program> Programs::make(const ProgramId& id, PoolFile file) {
  uint32_t chunks = file.shape().chunk_count;
  ask_for_marks(file, marks_spans_);
  auto program = std::make_shared<Program>(id, PoolReader(std::move(file), instance_, losses_), times_,
                                           now_monotonic_nano(), redaction_);
  programs_.emplace(id.key, program);
  for (Held* held : {&users_[id.uid], &all_}) {
    ++held->pools;
    held->chunks += chunks;
  }
  reading().set(static_cast<int64_t>(programs_.size()));
  return program;
}

bool Programs::adopt(const std::string& name, Fd descriptor) {
  std::optional<ProgramId> id = ProgramId::of_store_name(name);
  if (!id) return false;
  Result<PoolFile> file = PoolFile::open(std::move(descriptor), 0);
  // One of a version that a later agent stored: a later agent may be our successor.
  if (!file && file.error().code == ErrorCode::kUnsupported) return true;
  if (!file || key_of(*file) != id->key || programs_.contains(id->key)) {
    store_.remove(name);
    return false;
  }
  if (!has_room(id->uid, file->shape().chunk_count)) {
    losses_.no_room_pools.add();
    store_.remove(name);
    return false;
  }
  make(*id, *std::move(file));
  return true;
}

pool::Verdict Programs::offered(ConnectionId connection, const Peer& peer, Fd descriptor, uint64_t pool_bytes) {
  Result<PoolFile> file = PoolFile::open(std::move(descriptor), pool_bytes);
  if (!file) {
    bool version = file.error().code == ErrorCode::kUnsupported;
    return version ? pool::Verdict::kVersion : pool::Verdict::kInvalid;
  }
  PoolKey key = key_of(*file);
  auto known = programs_.find(key);
  if (known != programs_.end()) {
    if (known->second->id().uid != peer.uid) return pool::Verdict::kInvalid;
    connections_[connection] = key;
    known->second->connected(connection, peer);
    return pool::Verdict::kTaken;
  }
  if (!has_room(peer.uid, file->shape().chunk_count)) return pool::Verdict::kTooMany;
  auto program = make({.uid = peer.uid, .process = peer.process, .key = key}, *std::move(file));
  connections_[connection] = key;
  program->connected(connection, peer);
  store_.store(program->stored_name(), program->reader().file().descriptor());
  if (on_taken) on_taken(program);
  return pool::Verdict::kTaken;
}

void Programs::closed(ConnectionId connection) {
  auto found = connections_.find(connection);
  if (found == connections_.end()) return;
  auto program = programs_.find(found->second);
  connections_.erase(found);
  if (program != programs_.end()) program->second->disconnected(connection, now_monotonic_nano());
}

void Programs::tick(uint64_t now_monotonic_nano) {
  look_after(now_monotonic_nano);
  limit_ended();
  uint64_t untold_bytes = 0;
  for (auto at = programs_.begin(); at != programs_.end();) {
    auto next = std::next(at);
    Program& program = *at->second;
    if (!program.reader().is_ours()) {
      losses_.taken_over_pools.add();
      let_go(at);
    } else if (may_go(program, now_monotonic_nano, untold_bytes)) {
      let_go(at);
    }
    at = next;
  }
}

// What a program lost is safe from our own death while it stands in the pool, so the pool stays until it is told.
bool Programs::may_go(Program& program, uint64_t now_nano, uint64_t& untold_bytes) const {
  if (!program.ended() || !program.read_to_end || program.sending) return false;
  // Who has a connection all the same was misjudged, and is to come back.
  if (program.reader().all_losses_told() || !program.connections().empty()) return true;
  if (program.read_to_end_nano == 0) program.read_to_end_nano = now_nano;
  untold_bytes += program.held_bytes();
  return now_nano - program.read_to_end_nano >= times_.untold_nano || untold_bytes > limits_.most_bytes_of_ended;
}

void Programs::look_after(uint64_t now_nano) {
  maps_.poll();
  for (const auto& [key, program] : programs_) {
    if (!program->reader().is_ours()) continue;
    program->look(now_nano, maps_);
    program->reader().count_losses(now_nano);
  }
}

void Programs::limit_ended() {
  uint64_t bytes = 0;
  std::map<uid_t, uint64_t> of_users;
  for (const auto& [key, program] : programs_) {
    if (!program->ended() || program->read_to_end) continue;
    uint64_t held = program->held_bytes();
    bytes += held;
    of_users[program->id().uid] += held;
  }
  if (bytes <= limits_.most_bytes_of_ended) return;
  auto holds_less = [](const auto& one, const auto& other) { return one.second < other.second; };
  Program* program = longest_ended(std::max_element(of_users.begin(), of_users.end(), holds_less)->first);
  for (int i = 0; i < kDropsAtOnce && program != nullptr && !program->read_to_end; ++i) drop_unread(*program);
}

// Of those that can be dropped now.
Program* Programs::longest_ended(uid_t of_user) const {
  Program* oldest = nullptr;
  for (const auto& [key, program] : programs_) {
    bool ready = program->ended() && !program->read_to_end && !program->sending && program->reader().is_ours();
    if (!ready || program->id().uid != of_user) continue;
    bool older = oldest == nullptr || program->ended_since_nano() < oldest->ended_since_nano();
    if (older) oldest = program.get();
  }
  return oldest;
}

// Reads it all the same, so that it is known how many spans were lost; a part of it, because it may be large.
void Programs::drop_unread(Program& program) {
  CountingSink sink;
  PoolReader& reader = program.reader();
  if (reader.resumes()) reader.collect_again(sink);
  if (reader.under_way()) reader.acknowledge();
  Collected collected = reader.collect(sink, kDropBytes, true);
  if (collected.spans > 0) {
    reader.begin();
    reader.acknowledge();
  }
  if (!program.note_read_after_end(collected)) losses_.endless_pools.add();
  losses_.dropped_spans.add(sink.spans);
}

// Also a pool that another agent reads is stored no longer: who reads it is the program's word, and memory that stayed
// stored would be nobody's. A supervisor listens to its own agent alone, so what a successor stored stays.
void Programs::let_go(std::map<PoolKey, std::shared_ptr<Program>>::iterator at) {
  const ProgramId& id = at->second->id();
  uint32_t chunks = at->second->reader().file().shape().chunk_count;
  auto user = users_.find(id.uid);
  for (Held* held : {&user->second, &all_}) {
    --held->pools;
    held->chunks -= chunks;
  }
  if (user->second.pools == 0) users_.erase(user);
  store_.remove(at->second->stored_name());
  std::set<ConnectionId> connections = at->second->connections();
  at->second->gone = true;
  programs_.erase(at);
  reading().set(static_cast<int64_t>(programs_.size()));
  for (ConnectionId connection : connections) {
    connections_.erase(connection);
    if (on_let_go) on_let_go(connection);
  }
}

std::function<void()> Programs::losses_told() const {
  std::vector<std::pair<std::weak_ptr<Program>, PoolReader::LossCounts>> counted;
  for (const auto& [key, program] : programs_) {
    if (!program->reader().all_losses_told()) counted.emplace_back(program, program->reader().counted_losses());
  }
  return [counted = std::move(counted)] {
    for (const auto& [weak, losses] : counted) {
      auto program = weak.lock();
      if (program && !program->gone && program->reader().is_ours()) program->reader().mark_told(losses);
    }
  };
}

void Programs::for_each(const std::function<void(const std::shared_ptr<Program>&)>& visit) const {
  for (const auto& [key, program] : programs_) visit(program);
}

std::shared_ptr<Program> Programs::find(ConnectionId connection) const {
  auto found = connections_.find(connection);
  if (found == connections_.end()) return nullptr;
  auto program = programs_.find(found->second);
  return program == programs_.end() ? nullptr : program->second;
}

std::shared_ptr<Program> Programs::find(uid_t uid, const std::array<uint8_t, 16>& process_id) const {
  for (const auto& [key, program] : programs_) {
    if (program->id().uid == uid && program->reader().file().shape().process_id == process_id) return program;
  }
  return nullptr;
}

}  // namespace fathom::agent
