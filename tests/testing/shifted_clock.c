// A library for LD_PRELOAD: the clocks of another host. SHIFT_NANO is added to CLOCK_REALTIME, and CLOCK_REALTIME,
// CLOCK_MONOTONIC and CLOCK_BOOTTIME run SHIFT_PPM millionths faster since SHIFT_FROM_NANO (CLOCK_MONOTONIC).
// SHIFT_STEP_AFTER_NANO later, CLOCK_REALTIME steps by SHIFT_STEP_NANO.
//
// Only the program's own code sees them: a library that computes a deadline hands it to the kernel, whose clocks are
// not shifted.
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const int64_t kSecond = 1000000000;
static int64_t shift_nano, from_nano, step_nano, step_after_nano;
static double rate;
static uintptr_t code_begin = UINTPTR_MAX, code_end;

// The program itself is the first.
static int look_at(struct dl_phdr_info* info, size_t size, void* unused) {
  (void)size, (void)unused;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
    const uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, end = begin + info->dlpi_phdr[i].p_memsz;
    if (begin < code_begin) code_begin = begin;
    if (end > code_end) code_end = end;
  }
  return 1;
}

static int64_t number(const char* name) {
  const char* text = getenv(name);
  return text == NULL ? 0 : strtoll(text, NULL, 10);
}

__attribute__((constructor)) static void begin(void) {
  shift_nano = number("SHIFT_NANO");
  from_nano = number("SHIFT_FROM_NANO");
  step_nano = number("SHIFT_STEP_NANO");
  step_after_nano = number("SHIFT_STEP_AFTER_NANO");
  rate = (double)number("SHIFT_PPM") / 1e6;
  dl_iterate_phdr(look_at, NULL);
}

static int64_t nano_of(clockid_t clock) {
  struct timespec at = {0, 0};
  syscall(SYS_clock_gettime, clock, &at);
  return at.tv_sec * kSecond + at.tv_nsec;
}

int clock_gettime(clockid_t clock, struct timespec* at) {
  const int64_t passed = nano_of(CLOCK_MONOTONIC) - from_nano;
  const int64_t drift = (int64_t)((double)passed * rate);
  const int64_t off = shift_nano + (passed >= step_after_nano ? step_nano : 0);
  const int status = (int)syscall(SYS_clock_gettime, clock, at);
  const uintptr_t caller = (uintptr_t)__builtin_return_address(0);
  if (status != 0 || caller < code_begin || caller >= code_end) return status;
  if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME) return status;
  const int64_t shifted =
      at->tv_sec * kSecond + at->tv_nsec + drift + (clock == CLOCK_REALTIME ? off : 0);
  at->tv_sec = shifted / kSecond;
  at->tv_nsec = shifted % kSecond;
  return 0;
}
