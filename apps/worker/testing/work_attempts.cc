// What a decoder does itself, and must be able to do when it is confined.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "apps/worker/testing/escape_attempts.h"

namespace fathom::escape {

namespace {

constexpr int kFailed = EIO;

int read_own_snapshot(const Target& target) {
  const int file = ::open(target.own_snapshot.c_str(), O_RDONLY | O_CLOEXEC);
  char byte = 0;
  return file < 0 ? errno : outcome(::pread(file, &byte, 1, 0));
}

int keep_answer(const Target& target) {
  std::string draft = target.directory + "/drafts/XXXXXX";
  const int file = ::mkostemp(draft.data(), O_CLOEXEC);
  if (file < 0 || ::write(file, "answer", 6) != 6 || ::fdatasync(file) != 0) return errno;
  return outcome(::rename(draft.c_str(), (target.directory + "/results/key").c_str()));
}

int use_threads(const Target&) {
  std::mutex lock;
  int count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      std::vector<char> memory(1 << 20, 'x');
      const std::lock_guard hold(lock);
      count += memory.back() == 'x' ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return count == 4 && std::thread::hardware_concurrency() > 0 ? 0 : kFailed;
}

// Code that a program changed while it ran is decoded from such a file, by its path.
int open_own_memory_file(const Target&) {
  const int file = ::memfd_create("patches", MFD_CLOEXEC);
  if (file < 0 || ::write(file, "code", 4) != 4) return errno;
  const int again = ::open(("/proc/self/fd/" + std::to_string(file)).c_str(), O_RDONLY);
  return again < 0 ? errno : outcome(::lseek(again, 0, SEEK_END));
}

int map_own_snapshot(const Target& target) {
  const int file = ::open(target.own_snapshot.c_str(), O_RDONLY);
  if (file < 0) return errno;
  const auto* byte = static_cast<const char*>(::mmap(nullptr, 1, PROT_READ, MAP_PRIVATE, file, 0));
  return byte == MAP_FAILED ? errno : *byte == '\0' ? kFailed : 0;
}

int use_memory(const Target&) {
  std::vector<int> numbers(8 << 20);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>(i * 2'654'435'761U);
  std::stable_sort(numbers.begin(), numbers.end());
  return std::is_sorted(numbers.begin(), numbers.end()) ? 0 : kFailed;
}

int catch_exception(const Target&) {
  try {
    (void)std::string().at(1);
  } catch (const std::exception&) {
    return 0;
  }
  return kFailed;
}

int ask_about_host(const Target& target) {
  char name[256] = {};
  struct stat about {};
  return outcome(::gethostname(name, sizeof name - 1)) + outcome(::stat(target.own_snapshot.c_str(), &about));
}

constexpr Attempt kWorkAttempts[] = {
    {"read-own-snapshot", read_own_snapshot, true},
    {"map-own-snapshot", map_own_snapshot, true},
    {"keep-answer", keep_answer, true},
    {"use-threads", use_threads, true},
    {"use-memory", use_memory, true},
    {"open-own-memory-file", open_own_memory_file, true},
    {"catch-exception", catch_exception, true},
    {"ask-about-host", ask_about_host, true},
};

}  // namespace

std::span<const Attempt> work_attempts() {
  return kWorkAttempts;
}

}  // namespace fathom::escape
