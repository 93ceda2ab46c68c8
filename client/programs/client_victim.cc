// A traced program to whom things happen: client_victim MODE [ARGUMENT]. It is killed, loses its files, its limits, its
// agent; what it says on its output is what the tests compare.
#include <fathom/event.h>
#include <fathom/trace.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "client/programs/sanitizer_fork.h"

namespace {

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

std::string hear() {
  char line[256];
  return std::fgets(line, sizeof line, stdin) == nullptr ? "" : std::string(line, std::strcspn(line, "\n"));
}

void spans(int count) {
  for (int i = 0; i < count; i++) {
    fathom::Span span("victim");
    span.set("number", i);
  }
}

// Makes as many spans as it is told to, until it is told no more.
int obey(const std::string&) {
  spans(1);
  say("ready");
  for (std::string word = hear(); !word.empty(); word = hear()) {
    spans(std::atoi(word.c_str()));
    say("lost " + std::to_string(fathom_lost_spans()));
  }
  return 0;
}

void event(int number) {
  FATHOM_EVENT_ON("victim.event", "number", number);
  FATHOM_EVENT("victim.quiet", "number", number);
}

// Makes its first event when it is told to, with spans before or without any.
int late_event(const std::string& first) {
  if (first != "no spans") spans(1);
  say("ready");
  int number = 0;
  for (std::string word = hear(); !word.empty(); word = hear()) {
    if (word == "close") close_range(3, ~0U, 0);
    if (word == "event") event(number++);
    if (word.starts_with("text ")) FATHOM_EVENT_ON("victim.text", "text", word.c_str());
    say(word);
  }
  return 0;
}

int event_in_handler(const std::string&) {
  signal(SIGUSR1, [](int) { event(0); });
  spans(1);
  raise(SIGUSR1);
  return late_event("no spans");
}

// The child has a pool of its own, and another program's patterns.
int event_in_child(const std::string&) {
  lock_sanitizer_around_fork();
  event(0);
  const pid_t child = fork();
  if (child != 0) return waitpid(child, nullptr, 0) == child ? 0 : 1;
  event(1);
  return 0;
}

// All of them make the pool at once.
int events_of_many(const std::string&) {
  std::atomic<int> waiting{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; i++) {
    threads.emplace_back([&waiting, i] {
      waiting++;
      while (waiting < 8) {
      }
      FATHOM_EVENT_ON("victim.first", "number", i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  say("done " + std::to_string(fathom_lost_events()));
  hear();
  return 0;
}

int brief(const std::string&) {
  spans(1);
  return 0;
}

// At full speed, for ever. The file says how many spans each thread has finished: the span's end comes before.
int forever(const std::string& path) {
  constexpr int kThreads = 2;
  const int fd = open(path.c_str(), O_RDWR);
  auto* finished = static_cast<std::atomic<uint64_t>*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++) {
    threads.emplace_back([t, finished] {
      for (uint64_t i = 0;; i++) {
        fathom::Span span("victim");
        span.set("thread", t).set("number", i).set("text", std::string(i % 100, 'x'));
        span.end();
        finished[t * 8].store(i + 1, std::memory_order_release);
        // As much as a reader can take; what is lost for lack of memory is another matter.
        while (i > finished[64 + t * 8].load(std::memory_order_acquire) + 20000) std::this_thread::yield();
      }
    });
  }
  say("ready");
  for (std::thread& thread : threads) thread.join();
  return 0;
}

// Says its tracestate as soon as it has one.
int breadcrumb(const std::string& state) {
  fathom::Span span("first");
  auto context = fathom::Context::extract("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", state);
  while (context->tracestate().rfind("fathom=", 0) != 0) std::this_thread::yield();
  say(context->tracestate());
  return 0;
}

// Ends; its child lives on.
int leave_child(const std::string&) {
  spans(1);
  say("ready");
  hear();
  if (fork() == 0) hear();  // until the test closes the other end
  return 0;
}

int close_files(const std::string&) {
  spans(1);
  say("ready");
  hear();
  close_range(3, ~0U, 0);
  // Whoever still used the old numbers would now talk to these.
  for (int i = 0; i < 100; i++) {
    if (open("/dev/null", O_RDWR) < 0) return 1;
  }
  spans(1);
  say("closed");
  hear();
  for (int fd = 3; fd < 103; fd++) {
    if (fcntl(fd, F_GETFD) < 0) return 2;
  }
  return 0;
}

int without_files(const std::string&) {
  const rlimit none = {0, 1000}, many = {1000, 1000};
  setrlimit(RLIMIT_NOFILE, &none);
  for (int i = 0; i < 10; i++) spans(1);
  say("lost " + std::to_string(fathom_lost_spans()));
  setrlimit(RLIMIT_NOFILE, &many);
  uint64_t before;
  do {
    before = fathom_lost_spans();
    spans(1);
  } while (fathom_lost_spans() != before);
  say("found");
  hear();
  return 0;
}

// memfd_create is refused, as a sandbox may.
int without_memfd(const std::string&) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof code / sizeof code[0], code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    return 1;
  fathom::Span outer("outer");
  spans(10);
  const auto active = fathom::Context::active();
  if (!active || active->traceparent() != outer.context().traceparent()) return 2;
  say("lost " + std::to_string(fathom_lost_spans()));
  return 0;
}

// A thread that is to be cancelled makes the first span of all.
int cancelled(const std::string&) {
  pthread_t thread;
  void* end = nullptr;
  const auto run = [](void*) -> void* {
    pthread_cancel(pthread_self());
    spans(1);
    pthread_testcancel();
    return nullptr;
  };
  if (pthread_create(&thread, nullptr, run, nullptr) != 0 || pthread_join(thread, &end) != 0) return 1;
  say(end == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
  hear();
  return 0;
}

int replace(const std::string& again) {
  spans(1);
  say("ready");
  hear();
  execl("/proc/self/exe", "client_victim", again.c_str(), nullptr);
  return 1;
}

int name_itself(const std::string& list) {
  fathom_set_resource({list.data(), list.size()});
  spans(1);
  fathom::set_resource("service.name=too-late");
  say("ready");
  hear();
  return 0;
}
int name_itself_late(const std::string& list) {
  spans(1);
  return name_itself(list);
}

int flush(const std::string& timeout_nano) {
  spans(100);
  say(std::to_string(fathom_flush(timeout_nano.empty() ? 20'000'000'000 : std::stoull(timeout_nano))));
  return 0;
}
int flush_when_told(const std::string& timeout_nano) {
  spans(1);
  hear();
  return flush(timeout_nano);
}

// All signals that the program handles are blocked in the thread that traces, as servers do it.
int blocked_signals(const std::string&) {
  signal(SIGTERM, [](int) {});
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  return obey("");
}

// The first span of all is made in a signal handler, which no thread may be started from.
int in_handler(const std::string&) {
  signal(SIGUSR1, [](int) { spans(200); });
  raise(SIGUSR1);
  say("ready");
  hear();
  spans(200);
  say("more");
  hear();
  return 0;
}

bool until_the_very_end = false;
struct StaticSpan {
  ~StaticSpan() {
    if (until_the_very_end) const fathom::Span span("static destructor");
  }
} at_the_end;

int late_spans(const std::string&) {
  until_the_very_end = true;
  static thread_local StaticSpan in_thread;
  (void)&in_thread;
  atexit([] { spans(1); });
  return 0;
}

struct Mode {
  const char* name;
  int (*run)(const std::string& argument);
};
constexpr Mode kModes[] = {
    {"obey", obey},
    {"late-event", late_event},
    {"event-in-handler", event_in_handler},
    {"event-in-child", event_in_child},
    {"events-of-many", events_of_many},
    {"brief", brief},
    {"forever", forever},
    {"breadcrumb", breadcrumb},
    {"leave-child", leave_child},
    {"close-files", close_files},
    {"without-files", without_files},
    {"without-memfd", without_memfd},
    {"cancelled", cancelled},
    {"replace", replace},
    {"name-itself", name_itself},
    {"name-itself-late", name_itself_late},
    {"flush", flush},
    {"flush-when-told", flush_when_told},
    {"blocked-signals", blocked_signals},
    {"in-handler", in_handler},
    {"late-spans", late_spans},
};

}  // namespace

int main(int argc, char** argv) {
  for (const Mode& mode : kModes) {
    if (argc > 1 && std::strcmp(mode.name, argv[1]) == 0) return mode.run(argc > 2 ? argv[2] : "");
  }
  return 64;
}
