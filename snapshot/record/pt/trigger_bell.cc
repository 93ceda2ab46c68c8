#include "snapshot/record/pt/trigger_bell.h"

#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <x86intrin.h>

#include <algorithm>
#include <cstring>

namespace fathom::snapshot {

static_assert(std::atomic<uint64_t>::is_always_lock_free, "the page is shared by processes");

Result<TriggerBell> TriggerBell::make() {
  Fd page(::memfd_create("fathom-trigger", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  Fd bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!page.open() || !bell.open()) return system_error("cannot make a bell for triggers");
  if (::ftruncate(page.get(), sizeof(Page)) != 0) return system_error("cannot make a bell for triggers");
  // A program that shrinks the page would kill the recorder.
  if (::fcntl(page.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) return system_error("cannot seal a page");
  return attach(std::move(page), std::move(bell));
}

Result<TriggerBell> TriggerBell::attach(Fd page, Fd bell) {
  TriggerBell made(std::move(page), std::move(bell));
  if (auto mapped = made.map(); !mapped) return mapped.error();
  return made;
}

Result<> TriggerBell::map() {
  struct stat about {};
  if (::fstat(page_.get(), &about) != 0 || about.st_size != static_cast<off_t>(sizeof(Page)))
    return invalid("that is no page of a bell for triggers");
  void* at = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, page_.get(), 0);
  if (at == MAP_FAILED) return system_error("cannot map a bell for triggers");
  shared_ = static_cast<Page*>(at);
  return {};
}

TriggerBell::TriggerBell(TriggerBell&& other) noexcept
    : page_(std::move(other.page_)),
      bell_(std::move(other.bell_)),
      shared_(std::exchange(other.shared_, nullptr)),
      answered_(other.answered_),
      missed_(other.missed_) {}

TriggerBell& TriggerBell::operator=(TriggerBell&& other) noexcept {
  std::swap(page_, other.page_);
  std::swap(bell_, other.bell_);
  std::swap(shared_, other.shared_);
  std::swap(answered_, other.answered_);
  std::swap(missed_, other.missed_);
  return *this;
}

TriggerBell::~TriggerBell() {
  if (shared_ != nullptr) ::munmap(shared_, sizeof(Page));
}

void TriggerBell::ring(BellReason reason, const Id<16>& trace_id, const Id<8>& span_id) {
  const int saved = errno;
  const uint64_t tsc = __rdtsc();
  const uint64_t number = shared_->next.fetch_add(1, std::memory_order_relaxed);
  Slot& slot = shared_->slots[number % kSlots];
  slot.turn.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  slot.request = {tsc, ::getpid(), ::gettid(), ::sched_getcpu(), static_cast<uint32_t>(reason), trace_id, span_id};
  slot.turn.store(number + 1, std::memory_order_release);
  const uint64_t one = 1;
  // It can only fail when 2^64 rings were not answered.
  if (::write(bell_.get(), &one, sizeof one) < 0) errno = saved;
  errno = saved;
}

bool TriggerBell::read_slot(uint64_t number, TriggerRequest& request) const {
  const Slot& slot = shared_->slots[number % kSlots];
  if (slot.turn.load(std::memory_order_acquire) != number + 1) return false;
  std::memcpy(&request, &slot.request, sizeof request);
  std::atomic_thread_fence(std::memory_order_acquire);
  return slot.turn.load(std::memory_order_relaxed) == number + 1;
}

std::vector<TriggerRequest> TriggerBell::answer() {
  uint64_t rings = 0;
  (void)!::read(bell_.get(), &rings, sizeof rings);
  const uint64_t next = shared_->next.load(std::memory_order_acquire);
  if (next - answered_ > kSlots) {
    missed_ += next - answered_ - kSlots;
    answered_ = next - kSlots;
  }
  std::vector<TriggerRequest> requests;
  for (; answered_ != next; ++answered_) {
    TriggerRequest request;
    // One that is still being written rings when it is done, and is answered then, if nothing came behind it.
    if (read_slot(answered_, request))
      requests.push_back(request);
    else if (answered_ + 1 == next)
      break;
    else
      ++missed_;
  }
  return requests;
}

}  // namespace fathom::snapshot
