#include "node-agent/agent/detail_pool.h"

#include <atomic>

namespace fathom::agent {

std::shared_ptr<Program> DetailPool::program() const {
  std::shared_ptr<Program> program = program_.lock();
  return program && !program->gone ? program : nullptr;
}

DetailSnapshot DetailPool::snapshot(const TickWindow& window, uint64_t budget_bytes) {
  std::lock_guard lock(snapshots_);
  return reader_.snapshot(window, budget_bytes);
}

TracepointTable DetailPool::tracepoints() const {
  std::string first = file().read_table();
  std::atomic_thread_fence(std::memory_order_acquire);
  return TracepointTable::decode(first, file().read_table());
}

void DetailPool::connected(ConnectionId connection, const Peer& peer) {
  connections_.insert(connection);
  if (peer.process.known()) id_.process = peer.process;
  reader_.begin_connection();
  ended_ = false;
  next_look_nano_ = next_find_nano_ = first_find_nano_ = 0;
}

void DetailPool::disconnected(ConnectionId connection, uint64_t now_nano) {
  connections_.erase(connection);
  if (!connections_.empty()) return;
  alone_since_nano_ = now_nano;
  next_look_nano_ = 0;
}

// Less and less often: of some there is none, and then all programs are looked at.
void DetailPool::find_program(uint64_t now_nano, const FindProgram& find) {
  if (now_nano < next_find_nano_ || program()) return;
  program_ = find(id_.uid, file().shape().process_id);
  if (first_find_nano_ == 0) first_find_nano_ = now_nano;
  next_find_nano_ = now_nano + (now_nano - first_find_nano_);
}

void DetailPool::look(uint64_t now_nano, const DetailTimes& times, const FindProgram& find) {
  if (now_nano < next_look_nano_) return;
  next_look_nano_ = now_nano + times.look_nano;
  find_program(now_nano, find);
  if (std::shared_ptr<Program> spans = program()) {
    had_program_ = true;
    service_ = spans->service();
  }
  bool over = is_over(now_nano, times);
  if (over && !ended_) ended_since_nano_ = now_nano;
  ended_ = over;
}

// Its span pool is looked after more closely (program.h), and says it first: also of a program that executed another.
bool DetailPool::is_over(uint64_t now_nano, const DetailTimes& times) const {
  if (std::shared_ptr<Program> spans = program()) return spans->ended();
  if (life_of(id_.process) == Life::kGone) return true;
  if (!connections_.empty() || now_nano - alone_since_nano_ < times.grace_nano) return false;
  return had_program_ || !id_.process.known();
}

void DetailPool::count_losses(uint64_t now_nano, AgentLosses& losses) {
  const pool::DetailHeader& header = file().header();
  marks_.count(header.losses, header.counted_losses, now_nano,
               [&](uint32_t loss, uint64_t lost, uint64_t most) { losses.add_of_detail(loss, lost, most); });
}

}  // namespace fathom::agent
