#include "apps/worker/memory_limit.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <new>

#include "apps/worker/sandbox/sanitized.h"
#include "cli/exit_codes.h"

#ifdef FATHOM_SANITIZED
// The search for leaks at the end would trace this process, which it may not.
extern "C" const char* __asan_default_options();  // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0";
}
#endif

namespace fathom {

namespace {

// For the message: a handler of new() takes no argument.
uint64_t memory_limit = 0;

// There is no memory to build a string in.
[[noreturn]] void no_memory() {
  char text[200];
  const int size = std::snprintf(text, sizeof text,
                                 "fathom-worker: this takes more than %llu MiB of memory; --memory-mib N allows more, "
                                 "--tid N or --limit N asks for less\n",
                                 static_cast<unsigned long long>(memory_limit >> 20));
  if (::write(STDERR_FILENO, text, static_cast<size_t>(size)) < 0) ::_exit(127);
  ::_exit(static_cast<int>(cli::ExitCode::kLocalFailure));
}

}  // namespace

void limit_memory(uint64_t bytes) {
  memory_limit = bytes;
  std::set_new_handler(no_memory);
#ifndef FATHOM_SANITIZED
  const rlimit limit{bytes, bytes};
  ::setrlimit(RLIMIT_DATA, &limit);
#endif
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
}

}  // namespace fathom
