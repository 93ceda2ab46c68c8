// What the fast path needs of the processor: ticks, additions that a signal handler cannot tear, copies of short texts.
//
// Purpose: a thread's own counters are changed by single instructions without a `lock` prefix. Only their thread
// changes them, so no other processor has to be kept out, and a signal handler runs before or after an instruction,
// never inside. Other processes may read them: on x86 an addition publishes (release) all that was stored before it.
// Thread safety: as said. Source of the idea: per-CPU and per-thread counters of kernels (this_cpu_add).
#pragma once

#include <errno.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#if defined(__SANITIZE_THREAD__)
#define FATHOM_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FATHOM_TSAN 1
#endif
#endif

// ThreadSanitizer does not see into assembly, and other processors have other means: there an atomic addition does.
#if defined(__x86_64__) && !defined(FATHOM_TSAN)
#define FATHOM_UNLOCKED 1
#endif

namespace fathom::client {

// What the compiler would rather call, because it stands in several places.
#define FATHOM_INLINED __attribute__((always_inline)) inline

inline bool likely(bool condition) {
  return __builtin_expect(condition, true);
}
inline bool unlikely(bool condition) {
  return __builtin_expect(condition, false);
}

// Adds and returns what was there before.
template <typename Word>
inline Word own_add(std::atomic<Word>& word, typename std::atomic<Word>::value_type amount) {
#if defined(FATHOM_UNLOCKED)
  asm volatile("xadd %0, %1" : "+r"(amount), "+m"(word) : : "memory", "cc");
  return amount;
#else
  return word.fetch_add(amount, std::memory_order_acq_rel);
#endif
}
inline void own_add_only(std::atomic<uint32_t>& word, uint32_t amount) {
#if defined(FATHOM_UNLOCKED)
  asm volatile("addl %1, %0" : "+m"(word) : "r"(amount) : "memory", "cc");
#else
  word.fetch_add(amount, std::memory_order_acq_rel);
#endif
}
inline void own_increment(std::atomic<uint32_t>& word) {
#if defined(FATHOM_UNLOCKED)
  asm volatile("incl %0" : "+m"(word) : : "memory", "cc");
#else
  word.fetch_add(1, std::memory_order_acq_rel);
#endif
}
// True when zero is reached.
inline bool own_decrement(std::atomic<uint32_t>& word) {
#if defined(FATHOM_UNLOCKED)
  bool zero;
  asm volatile("decl %0" : "+m"(word), "=@ccz"(zero) : : "memory", "cc");
  return zero;
#else
  return word.fetch_sub(1, std::memory_order_acq_rel) == 1;
#endif
}

// Keeps the compiler from moving stores across: what a signal handler on the same thread, or a tracer that has stopped
// it, may rely on.
inline void signal_fence() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

// What a traced function or the program's signal handlers do must not change errno.
class ErrnoKept {
 public:
  ErrnoKept() : before_(errno) {}
  ~ErrnoKept() { errno = before_; }
  ErrnoKept(const ErrnoKept&) = delete;
  ErrnoKept& operator=(const ErrnoKept&) = delete;

 private:
  int before_;
};

// string_view::substr, but for its exception: the library does without the C++ runtime.
inline std::string_view part(std::string_view text, size_t at, size_t size = ~size_t{0}) {
  if (at > text.size()) return {};
  return {text.data() + at, size < text.size() - at ? size : text.size() - at};
}

// Without the blanks and tabs at its ends.
inline std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

inline uint64_t monotonic_nano() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Two loads and two stores that may overlap copy every size between one and two of their widths, without a loop.
template <typename Word>
inline void copy_ends(char* to, const char* from, size_t size) {
  Word first, last;
  std::memcpy(&first, from, sizeof first);
  std::memcpy(&last, from + size - sizeof last, sizeof last);
  std::memcpy(to, &first, sizeof first);
  std::memcpy(to + size - sizeof last, &last, sizeof last);
}

// Names, keys and values are short: a call of memcpy would cost more than the copy, and would have whoever copies save
// its registers.
FATHOM_INLINED void copy_text(char* to, const char* from, size_t size) {
  if (__builtin_constant_p(size) && size != 0) {
    std::memcpy(to, from, size);
  } else if (size >= 16) {
    for (size_t at = 0; at < size - 16; at += 16) std::memcpy(to + at, from + at, 16);
    std::memcpy(to + size - 16, from + size - 16, 16);
  } else if (size >= 8) {
    copy_ends<uint64_t>(to, from, size);
  } else if (size >= 4) {
    copy_ends<uint32_t>(to, from, size);
  } else if (size >= 2) {
    copy_ends<uint16_t>(to, from, size);
  } else if (size == 1) {
    *to = *from;
  }
}

// Whole words.
FATHOM_INLINED void copy_words(char* to, const char* from, size_t bytes) {
  const char* end = from + bytes;
  for (; end - from >= 64; from += 64, to += 64) std::memcpy(to, from, 64);
  for (; end - from >= 16; from += 16, to += 16) std::memcpy(to, from, 16);
  if (from != end) std::memcpy(to, from, 8);
}

}  // namespace fathom::client
