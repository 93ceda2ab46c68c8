// A library for LD_PRELOAD: the clocks of another host. SHIFT_NANO is added to CLOCK_REALTIME, and CLOCK_REALTIME,
// CLOCK_MONOTONIC and CLOCK_BOOTTIME run SHIFT_PPM millionths faster since SHIFT_FROM_NANO (CLOCK_MONOTONIC).
// SHIFT_STEP_AFTER_NANO later, CLOCK_REALTIME steps by SHIFT_STEP_NANO. The kernel's boot id is read from the file
// SHIFT_BOOT_ID, if that is set.
//
// Only the program's own code and the C++ library, which reads clocks for it, see them: another library that computes a
// deadline hands it to the kernel, whose clocks are not shifted. Deadlines of the program's condition variables are
// translated to the kernel's clock.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const int64_t kSecond = 1000000000;
static int64_t shift_nano, from_nano, step_nano, step_after_nano;
static double rate;
static struct {
  uintptr_t begin, end;
} code[2];  // of the program, of the C++ library
static int (*cond_clockwait)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);

// The program itself is the first object.
static int look_at(struct dl_phdr_info* info, size_t size, void* unused) {
  (void)size, (void)unused;
  const int object = code[0].end == 0 ? 0 : 1;
  if (object == 1 && strstr(info->dlpi_name, "/libstdc++.so") == NULL) return 0;
  code[object].begin = UINTPTR_MAX;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
    const uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, end = begin + info->dlpi_phdr[i].p_memsz;
    if (begin < code[object].begin) code[object].begin = begin;
    if (end > code[object].end) code[object].end = end;
  }
  return object;
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
  *(void**)&cond_clockwait = dlsym(RTLD_NEXT, "pthread_cond_clockwait");
}

static int is_of_program(const void* caller) {
  const uintptr_t at = (uintptr_t)caller;
  return (at >= code[0].begin && at < code[0].end) || (at >= code[1].begin && at < code[1].end);
}

static int64_t nano_of(const struct timespec* at) {
  return at->tv_sec * kSecond + at->tv_nsec;
}

static struct timespec timespec_of(int64_t nano) {
  return (struct timespec){.tv_sec = nano / kSecond, .tv_nsec = nano % kSecond};
}

static int64_t kernel_nano(clockid_t clock) {
  struct timespec at = {0, 0};
  syscall(SYS_clock_gettime, clock, &at);
  return nano_of(&at);
}

int clock_gettime(clockid_t clock, struct timespec* at) {
  const int64_t passed = kernel_nano(CLOCK_MONOTONIC) - from_nano;
  const int64_t drift = (int64_t)((double)passed * rate);
  const int64_t off = shift_nano + (passed >= step_after_nano ? step_nano : 0);
  const int status = (int)syscall(SYS_clock_gettime, clock, at);
  if (status != 0 || !is_of_program(__builtin_return_address(0))) return status;
  if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME) return status;
  *at = timespec_of(nano_of(at) + drift + (clock == CLOCK_REALTIME ? off : 0));
  return 0;
}

int open(const char* path, int flags, ...) {
  const char* boot_id = getenv("SHIFT_BOOT_ID");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  const int is_boot_id = boot_id != NULL && strcmp(path, "/proc/sys/kernel/random/boot_id") == 0;
  return (int)syscall(SYS_openat, AT_FDCWD, is_boot_id ? boot_id : path, flags, mode);
}

// Without this, a thread whose clock is behind the kernel's would never wait: each deadline has passed.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const struct timespec* deadline) {
  if (clock != CLOCK_MONOTONIC || !is_of_program(__builtin_return_address(0))) {
    return cond_clockwait(condition, mutex, clock, deadline);
  }
  const double passed = (double)(nano_of(deadline) - from_nano) / (1 + rate);
  const struct timespec translated = timespec_of(from_nano + (int64_t)passed);
  return cond_clockwait(condition, mutex, clock, &translated);
}
