#include "node-agent/agent/program.h"

#include <charconv>
#include <iterator>
#include <vector>

#include "base/time.h"
#include "node-agent/otlp/span_encoder.h"

namespace fathom::agent {

namespace {

constexpr int kBase = 16;
constexpr uint64_t kManyBytes = 128 << 10;  // of spans; most pools have some megabytes

}  // namespace

std::string ProgramId::store_name(char kind) const {
  std::string name(1, kind);
  for (uint64_t number :
       {uint64_t{uid}, static_cast<uint64_t>(process.pid), process.started_ticks, key.device, key.inode}) {
    char digits[16];
    auto [end, fault] = std::to_chars(std::begin(digits), std::end(digits), number, kBase);
    name.append("-").append(digits, end);
  }
  return name;
}

std::optional<ProgramId> ProgramId::of_store_name(const std::string& name, char kind) {
  if (!name.starts_with(kind)) return std::nullopt;
  std::vector<uint64_t> numbers;
  const char* at = name.data() + 1;
  const char* end = name.data() + name.size();
  while (at != end && *at == '-' && numbers.size() < 6) {
    uint64_t number = 0;
    auto [next, fault] = std::from_chars(at + 1, end, number, kBase);
    if (fault != std::errc{}) return std::nullopt;
    numbers.push_back(number);
    at = next;
  }
  if (at != end || numbers.size() != 5 || numbers[0] > UINT32_MAX || numbers[1] > INT32_MAX) return std::nullopt;
  return ProgramId{.uid = static_cast<uid_t>(numbers[0]),
                   .process = {static_cast<pid_t>(numbers[1]), numbers[2]},
                   .key = {numbers[3], numbers[4]}};
}

void Program::connected(ConnectionId connection, const Peer& peer) {
  connections_.insert(connection);
  if (peer.process.known()) id_.process = peer.process;
  // Even if that process has ended: its pid and threads are still those of the pool's spans.
  if (peer.pid > 0 && peer.pid != threads_pid_) know_threads_of(peer.pid);
  ended_ = false;
  read_to_end = false;
  bytes_after_end = 0;
}

void Program::disconnected(ConnectionId connection, uint64_t now_nano) {
  connections_.erase(connection);
  if (!connections_.empty()) return;
  alone_since_nano_ = now_nano;
  left_pool_ = unseen_ = false;
  next_look_nano_ = 0;
}

void Program::look(uint64_t now_nano, MapReader& maps) {
  if (ended_ || now_nano < next_look_nano_) return;
  // Death is worth a closer look where it is likely.
  next_look_nano_ = now_nano + (connections_.empty() ? times_.look_nano / 10 : times_.look_nano);
  threads_->forget_ended(now_nano);
  ended_ = is_over(now_nano, maps);
  if (!ended_) return;
  ended_since_nano_ = now_nano;
  pause_collecting(0, 0);
}

void Program::pause_collecting(uint64_t shortest_nano, uint64_t longest_nano) {
  const uint64_t now_nano = now_monotonic_nano();
  soonest_collect_nano_ = now_nano + shortest_nano;
  next_collect_nano_ = now_nano + longest_nano;
}

bool Program::is_due(uint64_t now_nano) {
  if (next_collect_nano_ <= now_nano) return true;
  return soonest_collect_nano_ <= now_nano && reader_.is_ours() && reader_.has_unread(kManyBytes);
}

bool Program::is_over(uint64_t now_nano, MapReader& maps) {
  // Also with a connection: a child of a fork() may still hold the parent's.
  died_ = life_of(id_.process) == Life::kGone;
  if (died_) return true;
  if (!connections_.empty() || now_nano - alone_since_nano_ < times_.grace_nano) return false;
  return !id_.process.known() || has_left_pool(now_nano, maps);
}

bool Program::has_left_pool(uint64_t now_nano, MapReader& maps) {
  if (left_pool_) return true;
  bool alone_for_long = now_nano - alone_since_nano_ > times_.unseen_nano;
  if (alone_for_long && (unseen_ || maps.stuck(now_nano))) return true;
  if (now_nano < next_maps_nano_ || !maps.idle()) return false;
  next_maps_nano_ = now_nano + times_.maps_nano;
  maps.ask(id_.process.pid, id_.key.inode, now_nano,
           [weak = weak_from_this(), since = alone_since_nano_](std::optional<bool> answer) {
             if (std::shared_ptr<Program> program = weak.lock()) program->note_map(since, answer);
           });
  return false;
}

// Unless a connection came in between: then it was asked about another time.
void Program::note_map(uint64_t alone_since_nano, std::optional<bool> maps) {
  if (!connections_.empty() || alone_since_nano_ != alone_since_nano) return;
  left_pool_ = maps && !*maps;
  unseen_ = !maps;
  next_look_nano_ = 0;
}

bool Program::note_read_after_end(const Collected& collected) {
  const PoolShape& shape = reader_.file().shape();
  bytes_after_end += collected.read_bytes;
  bool endless = bytes_after_end > 2 * uint64_t{shape.chunk_bytes} * shape.chunk_count;
  read_to_end = collected.empty || endless;
  return !endless;
}

void Program::know_threads_of(pid_t pid) {
  threads_pid_ = pid;
  threads_.emplace(pid, reader_.file().header().pid);
}

std::function<std::optional<uint32_t>(uint32_t)> Program::node_tids(LookBudget& looks) {
  return [this, &looks, has_looked = false](uint32_t program_tid) mutable {
    const uint64_t now_nano = now_monotonic_nano();
    if (!has_looked && !ended_ && threads_->needs_look(program_tid, now_nano)) {
      has_looked = look_for_threads(now_nano, looks);
    }
    return threads_->find(program_tid);
  };
}

// False: the round's budget is used up.
bool Program::look_for_threads(uint64_t now_nano, LookBudget& looks) {
  const uint64_t left_nano = looks.left_nano(id_.uid, threads_pid_, now_nano);
  if (left_nano == 0) return false;
  threads_->look(now_nano, [until = now_nano + left_nano] { return now_monotonic_nano() < until; });
  looks.spend(id_.uid, threads_pid_, now_monotonic_nano() - now_nano);
  return true;
}

const std::string& Program::resource() {
  std::shared_ptr<const Redaction> rules = rules_of(current_redaction_);
  std::optional<std::string> text = reader_.new_resource(ended_);
  if (!text && rules == redaction_) return resource_;
  if (text) pool_resource_ = *std::move(text);
  redaction_ = std::move(rules);
  const std::string redacted = redaction_ ? redacted_resource(pool_resource_, *redaction_) : pool_resource_;
  resource_ = encode_resource(redacted);
  service_ = value_in_resource(redacted, "service.name");
  service_namespace_ = value_in_resource(redacted, "service.namespace");
  return resource_;
}

const std::shared_ptr<const Redaction>& Program::redaction() {
  (void)resource();
  return redaction_;
}

const std::string& Program::service() {
  (void)resource();
  return service_;
}

const std::string& Program::service_namespace() {
  (void)resource();
  return service_namespace_;
}

}  // namespace fathom::agent
