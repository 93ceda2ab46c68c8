// A service with seeded faults for `./dev bench captures`, in which four of them call each other on loopback.
//
//   faulty_service NAME OWN_PORT NEXT_PORT SECONDS RATE FAULTS_FROM_S FAULTS_TO_S SEED HOPS
//
// Each service starts root requests of five operations, RATE per second in all, and serves the calls of the previous
// service. Two operations call HOPS services, each of which calls the next. Each operation has a fault: a long sleep, a
// lock that is held long, a slow disk, or (those two) the last service that is called sleeps or spins. It affects 1 to
// 5 % of the requests from FAULTS_FROM_S to FAULTS_TO_S seconds after the start. The environment variable
// OTEL_SERVICE_NAME sets service.name. Prints "ready" when it listens, and at the end the number of requests that it
// made.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fathom/event.h>
#include <fathom/trace.h>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kOperations = 5;
constexpr int kWorkers = 16;
constexpr const char* kNames[kOperations] = {"browse", "order", "search", "price", "store"};

struct Options {
  std::string name;
  int own_port = 0;
  int next_port = 0;
  double seconds = 0;
  double rate = 0;
  double faults_from_s = 0;
  double faults_to_s = 0;
  uint64_t seed = 0;
  int hops = 1;
};

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(1);
}

// ---- protocol: one line there, one line back ------------------------------------------------------------------------

std::string read_line(int socket) {
  std::string line;
  for (char c = 0; ::read(socket, &c, 1) == 1 && c != '\n';) line.push_back(c);
  return line;
}

bool write_line(int socket, const std::string& line) {
  const std::string text = line + "\n";
  return ::send(socket, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// The connection to the next service, which is opened on first use.
class Next {
 public:
  explicit Next(int port) : port_(port) {}

  // `hops`: how many services to call, each by the one before it.
  std::string call(const std::string& operation, int hops) {
    fathom::Span span("call " + operation, fathom::Kind::kClient);
    if (socket_ < 0) connect();
    const std::string request = operation + " " + std::to_string(hops) + " " + span.context().traceparent();
    if (!write_line(socket_, request)) die("the next service is gone");
    return read_line(socket_);
  }

 private:
  void connect() {
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(port_);
    for (int i = 0; i < 100; ++i) {
      if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
        const int on = 1;
        ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        return;
      }
      std::this_thread::sleep_for(milliseconds(100));
    }
    die("connect");
  }

  const int port_;
  int socket_ = -1;
};

// ---- the work, and its faults ---------------------------------------------------------------------------------------

class Service {
 public:
  explicit Service(const Options& options) : options_(options), start_(steady_clock::now()) {}

  void begin() {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const sockaddr_in address = loopback(options_.own_port);
    if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) die("bind");
    if (::listen(listener, 64) != 0) die("listen");
    std::thread([this, listener] { accept(listener); }).detach();
    std::puts("ready");
    std::fflush(stdout);
  }

  void run() {
    std::vector<std::thread> workers;
    for (int i = 0; i < kWorkers; ++i) workers.emplace_back([this, i] { work(i); });
    std::mt19937_64 random(options_.seed);
    std::exponential_distribution<double> pause(options_.rate);
    for (double at = pause(random); at < options_.seconds; at += pause(random)) {
      std::this_thread::sleep_until(start_ + std::chrono::duration_cast<steady_clock::duration>(duration<double>(at)));
      put(static_cast<int>(random() % kOperations));
    }
    end();
    for (std::thread& worker : workers) worker.join();
    std::printf("%llu requests\n", static_cast<unsigned long long>(requests_.load()));
  }

 private:
  double now_s() const { return duration<double>(steady_clock::now() - start_).count(); }

  void put(int operation) {
    std::lock_guard lock(mutex_);
    waiting_.push_back(operation);
    changed_.notify_one();
  }
  void end() {
    std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  int take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
    if (waiting_.empty()) return -1;
    const int operation = waiting_.front();
    waiting_.pop_front();
    return operation;
  }

  void work(int worker) {
    std::mt19937_64 random(options_.seed * 1000 + static_cast<uint64_t>(worker));
    Next next(options_.next_port);
    for (int operation = take(); operation >= 0; operation = take()) {
      fathom::Span span(std::string(options_.name) + "." + kNames[operation], std::nullopt, fathom::Kind::kServer);
      FATHOM_EVENT_ON("request", "operation", operation);
      usual_work(random);
      if (operation % 2 == 1) next.call(strikes(operation, random) ? "slow" : "usual", options_.hops);
      if (operation % 2 == 0 && strikes(operation, random)) fault(operation, random);
      ++requests_;
    }
  }

  // One percent for operation 0, five percent for the last one.
  bool strikes(int operation, std::mt19937_64& random) const {
    const double now = now_s();
    if (now < options_.faults_from_s || now > options_.faults_to_s) return false;
    return std::uniform_real_distribution<double>(0, 1)(random) < 0.01 * (operation + 1);
  }

  void usual_work(std::mt19937_64& random) {
    spin_ms(0.1);
    {
      std::lock_guard lock(shared_);
      FATHOM_EVENT_ON("has.lock");
    }
    sleep_ms(std::lognormal_distribution<double>(std::log(3.0), 0.4)(random));
  }

  void fault(int operation, std::mt19937_64& random) {
    const double ms = std::uniform_real_distribution<double>(100, 400)(random);
    if (operation == 0) return sleep_ms(ms);
    if (operation == 2) return hold_lock(ms / 2);
    disk_ms(ms);
  }

  void hold_lock(double ms) {
    std::lock_guard lock(shared_);
    sleep_ms(ms);
  }

  static void disk_ms(double ms) {
    char path[] = "/tmp/faulty-service-XXXXXX";
    const int file = ::mkostemp(path, O_CLOEXEC);
    ::unlink(path);
    const auto end = steady_clock::now() + duration<double, std::milli>(ms);
    while (steady_clock::now() < end) {
      if (::write(file, path, sizeof path) < 0 || ::fdatasync(file) != 0) break;
      std::this_thread::sleep_for(milliseconds(5));
    }
    ::close(file);
  }
  static void sleep_ms(double ms) { std::this_thread::sleep_for(duration<double, std::milli>(ms)); }
  static void spin_ms(double ms) {
    const auto end = steady_clock::now() + duration<double, std::milli>(ms);
    while (steady_clock::now() < end) {
    }
  }

  // ---- serving the previous service

  void accept(int listener) {
    for (;;) {
      const int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) return;
      std::thread([this, socket] { serve(socket); }).detach();
    }
  }
  void serve(int socket) {
    std::mt19937_64 random(options_.seed + static_cast<uint64_t>(socket));
    Next next(options_.next_port);
    for (std::string line = read_line(socket); !line.empty(); line = read_line(socket)) {
      std::istringstream words(line);
      std::string what;
      std::string traceparent;
      int hops = 0;
      words >> what >> hops >> traceparent;
      {
        fathom::Span span(std::string(options_.name) + ".part", fathom::Context::extract(traceparent),
                          fathom::Kind::kServer);
        usual_work(random);
        if (hops > 1)
          next.call(what, hops - 1);
        else if (what == "slow")
          slow_part(random);
      }
      if (!write_line(socket, "done")) break;
    }
    ::close(socket);
  }
  static void slow_part(std::mt19937_64& random) {
    std::uniform_real_distribution<double>(0, 1)(random) < 0.5 ? sleep_ms(250) : spin_ms(120);
  }

  const Options options_;
  const steady_clock::time_point start_;
  std::mutex shared_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<int> waiting_;
  bool ended_ = false;
  std::atomic<uint64_t> requests_{0};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 10) {
    std::fprintf(stderr,
                 "usage: faulty_service NAME OWN_PORT NEXT_PORT SECONDS RATE FAULTS_FROM_S FAULTS_TO_S SEED HOPS\n");
    return 2;
  }
  Service service({.name = argv[1],
                   .own_port = std::atoi(argv[2]),
                   .next_port = std::atoi(argv[3]),
                   .seconds = std::atof(argv[4]),
                   .rate = std::atof(argv[5]),
                   .faults_from_s = std::atof(argv[6]),
                   .faults_to_s = std::atof(argv[7]),
                   .seed = std::strtoull(argv[8], nullptr, 10),
                   .hops = std::atoi(argv[9])});
  service.begin();
  service.run();
  fathom::flush(5'000'000'000);
}
