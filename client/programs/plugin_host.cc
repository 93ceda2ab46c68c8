// A program without the client library that loads a plugin with it, lets threads work in it, and closes it while they
// and the library's own thread live: plugin_host PLUGIN. Exits with 0 when nothing was lost and everybody came home.
#include <dlfcn.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

std::mutex mutex;
std::condition_variable changed;
int worked = 0;
bool closed = false;

void work_and_stay(int (*work)(int)) {
  const int lost = work(1000);
  std::unique_lock lock(mutex);
  worked += lost == 0;
  changed.notify_all();
  changed.wait(lock, [] { return closed; });
  // The end of this thread calls into the library, which the plugin brought.
}

int round(const char* path) {
  void* plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
  auto* work = reinterpret_cast<int (*)(int)>(dlsym(plugin, "plugin_work"));
  if (work == nullptr) return 2;
  worked = 0;
  closed = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) threads.emplace_back(work_and_stay, work);
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [] { return worked == 4; });
    if (dlclose(plugin) != 0) return 3;
    closed = true;
    changed.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}

// The agent's end of the socket, as far as it is needed to see that the library's thread is alive.
class Agent {
 public:
  Agent() : fd_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    const std::string name = "@fathom-plugin-" + std::to_string(getpid());
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data() + 1, name.size() - 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    if (bind(fd_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(fd_, 16) != 0) std::abort();
    setenv("FATHOM_AGENT_SOCKET", name.c_str(), 1);
  }
  // Sends the program that comes next away. The offer that comes with the first span is not the thread's.
  bool send_away() {
    pollfd wanted = {fd_, POLLIN, 0};
    if (poll(&wanted, 1, 30'000) != 1) return false;
    const int connection = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    return connection >= 0 && close(connection) == 0;
  }

 private:
  int fd_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 64;
  Agent agent;
  for (int i = 0; i < 3; i++) {
    if (const int wrong = round(argv[1]); wrong != 0) return wrong;
  }
  // All is closed, and the library's thread comes again and again.
  for (int i = 0; i < 4; i++) {
    if (!agent.send_away()) return 4;
  }
  return 0;
}
