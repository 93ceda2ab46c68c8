// Subjects that make threads, processes and code.
#include <dlfcn.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "snapshot/record/programs/step_subjects.h"

namespace {

using Answer = int (*)();

// mov eax, number; ret
void write_code(void* at, int number) {
  unsigned char code[] = {0xb8, 0, 0, 0, 0, 0xc3};
  std::memcpy(code + 1, &number, 4);
  std::memcpy(at, code, sizeof code);
}

int call_code(void* at) {
  return reinterpret_cast<Answer>(at)();
}

int exit_status_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string plugin_path() {
  const std::string own = subject_path;
  return own.substr(0, own.rfind('/') + 1) + "libstep_plugin.so";
}

}  // namespace

bool subject_threads() {
  std::mutex mutex;
  std::condition_variable ready;
  int sum = 0;
  bool go = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; i++) {
    threads.emplace_back([&, i] {
      std::unique_lock lock(mutex);
      ready.wait(lock, [&] { return go; });
      for (int k = 0; k < 20; k++) sum += i;
    });
  }
  {
    const std::lock_guard lock(mutex);
    go = true;
  }
  ready.notify_all();
  for (std::thread& thread : threads) thread.join();
  return sum == 60;
}

namespace {

std::atomic<int> calls_inside{0};
std::atomic<bool> short_one_over{false};

__attribute__((noinline)) void step_of_call(volatile int& sum) {
  sum = sum + 1;
}

}  // namespace

// Two calls that overlap: the long one has most of its way before it when the short one is over.
extern "C" __attribute__((noinline)) int overlapping_call(bool is_short) {
  volatile int sum = 0;
  calls_inside++;
  while (calls_inside != 2) ::sched_yield();
  if (is_short) return 0;
  while (!short_one_over) ::sched_yield();
  for (int i = 0; i < 1234; i++) step_of_call(sum);
  return sum;
}

bool subject_overlap() {
  int sum = 0;
  calls_inside = 0;
  short_one_over = false;
  std::thread longer([&] { sum = overlapping_call(false); });
  std::thread shorter([] {
    overlapping_call(true);
    short_one_over = true;
  });
  shorter.join();
  longer.join();
  return sum == 1234;
}

bool subject_processes() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(7);
  const pid_t quick = ::vfork();
  if (quick == 0) ::_exit(8);
  return exit_status_of(child) == 7 && exit_status_of(quick) == 8;
}

// A small program in a new process, and threads that exec() ends, one of them not the first.
bool subject_exec() {
  const pid_t child = ::fork();
  if (child != 0) return exit_status_of(child) == 0;
  std::thread waits([] { ::pause(); });
  std::thread([] {
    ::execl("/bin/true", "/bin/true", nullptr);
    ::_exit(3);
  }).join();
  waits.join();
  return false;
}

bool subject_dlopen() {
  int sum = 0;
  for (int i = 0; i < 2; i++) {
    void* library = ::dlopen(plugin_path().c_str(), RTLD_NOW);
    if (library == nullptr) return false;
    const auto answer = reinterpret_cast<Answer>(::dlsym(library, "plugin_answer"));
    if (answer == nullptr) return false;
    sum += answer();
    ::dlclose(library);
  }
  return sum == 84;
}

bool subject_jit() {
  constexpr size_t kBytes = 8192;
  void* at = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return false;
  write_code(at, 1);
  ::mprotect(at, kBytes, PROT_READ | PROT_EXEC);
  int sum = call_code(at);
  ::mprotect(at, kBytes, PROT_READ | PROT_WRITE);
  write_code(at, 20);
  ::mprotect(at, kBytes, PROT_READ | PROT_EXEC);
  sum += call_code(at);
  // Without the kernel's being asked, and across two pages.
  ::mprotect(at, kBytes, PROT_READ | PROT_WRITE | PROT_EXEC);
  char* const across = static_cast<char*>(at) + 4096 - 3;
  for (int i = 0; i < 3; i++) {
    write_code(across, 300 + i);
    sum += call_code(across);
  }
  ::munmap(at, kBytes);
  return sum == 924;
}
