#include "capture/piece_thread.h"

#include <sched.h>

#include <system_error>
#include <utility>

namespace fathom::capture {

namespace {

constexpr size_t kPieceBytes = 128 << 10;

// The kernel of a virtual machine often wakes a thread where its waker runs although another processor is idle: it
// takes an idle processor for one that the host has taken away. Both threads would then share one processor.
void leave_cpu(int cpu) {
  cpu_set_t cpus;
  if (cpu < 0 || ::sched_getaffinity(0, sizeof cpus, &cpus) != 0) return;
  CPU_CLR(static_cast<size_t>(cpu), &cpus);
  if (CPU_COUNT(&cpus) > 0) ::sched_setaffinity(0, sizeof cpus, &cpus);
}

}  // namespace

bool PieceThread::start() {
  try {
    thread_ = std::thread([this, cpu = ::sched_getcpu()] {
      leave_cpu(cpu);
      run();
    });
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

void PieceThread::append(std::string_view bytes) {
  piece_.append(bytes);
  if (piece_.size() >= kPieceBytes) hand_over();
}

void PieceThread::hand_over() {
  {
    std::lock_guard lock(mutex_);
    pieces_.push_back(std::exchange(piece_, {}));
  }
  piece_.reserve(kPieceBytes);
  changed_.notify_one();
}

void PieceThread::finish() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    if (!piece_.empty()) pieces_.push_back(std::move(piece_));
    ends_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void PieceThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !pieces_.empty(); });
    if (pieces_.empty()) return;
    const std::string piece = std::move(pieces_.front());
    pieces_.pop_front();
    lock.unlock();
    work_(piece);
    lock.lock();
  }
}

}  // namespace fathom::capture
