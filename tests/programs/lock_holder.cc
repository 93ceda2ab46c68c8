// One thread holds a mutex while another, in reserve(), waits for it. The lines marked below are looked for by name.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <mutex>
#include <thread>

namespace {

std::mutex shelves;
int stock;
std::promise<void> held;

__attribute__((noinline)) void take(int count) {
  const std::lock_guard<std::mutex> guard(shelves);  // waits
  stock -= count;
}

__attribute__((always_inline)) inline void report(const char* text) {
  if (std::puts(text) < 0) std::exit(2);  // reports
}

__attribute__((noinline)) void reserve(int count) {
  take(count);
  report("reserved");  // inlines
}

void hold() {
  const std::lock_guard<std::mutex> guard(shelves);
  held.set_value();
  std::this_thread::sleep_for(std::chrono::milliseconds(700));  // it is about somebody who holds a lock for long
}

}  // namespace

int main() {
  std::thread holder(hold);
  held.get_future().wait();
  reserve(3);
  holder.join();
  return stock == -3 ? 0 : 1;
}
