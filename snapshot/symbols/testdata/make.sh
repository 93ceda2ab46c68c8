#!/bin/bash
# Makes the sample images beside it: needs gcc, clang, binutils and xz. What they hold is said in image_symbols_test.cc.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
cat >sample.cc <<'EOF'
// The line numbers below are looked for.
extern "C" int outside(int);

namespace shop {

struct Request {
  int number;
};

static __attribute__((noinline)) int helper(int number) {
  return number * outside(number);
}

int handle(Request& request) {
  const int price = helper(request.number);
  return price + outside(price);
}

}  // namespace shop

extern "C" int plain(int number) {
  shop::Request request{number};
  return shop::handle(request) + 1;
}
EOF
cat >inlined.cc <<'EOF'
// The line numbers below are looked for.
extern "C" int lock(int*);
extern "C" int unlock(int*);
namespace shop {
struct Mutex {
  int word;
  void take() { lock(&word); }
};
struct Guard {
  explicit Guard(Mutex& mutex) : mutex_(mutex) { mutex_.take(); }
  ~Guard() { unlock(&mutex_.word); }
  Mutex& mutex_;
};
int count(Mutex& mutex, int& stock) {
  Guard guard(mutex);
  struct Local {
    static __attribute__((noinline)) int twice(int number) { return 2 * lock(&number); }
  };
  stock += Local::twice(stock);
  return stock;
}
}  // namespace shop
EOF
trap 'rm -f sample.cc inlined.cc sample.mini.xz' EXIT
flags="-O1 -shared -fPIC -nostdlib -fdebug-prefix-map=$PWD=/build -fno-asynchronous-unwind-tables -Wl,-z,noseparate-code"
g++ $flags -g -gdwarf-5 -fcf-protection -Wl,-z,ibtplt -Wl,--build-id=0x0123456789abcdef sample.cc -o sample.elf
g++ $flags -g -gdwarf-4 -Wl,--build-id=none sample.cc -o sample.dwarf4.elf
g++ ${flags/-O1/-O2} -g -gdwarf-5 -fno-exceptions -Wl,--build-id=none inlined.cc -o inlined.elf
clang++-16 ${flags/-O1/-O2} -g -gdwarf-5 -fno-exceptions -fuse-ld=bfd -Wl,--build-id=none inlined.cc -o inlined.clang.elf
objcopy --only-keep-debug sample.elf sample.debug
objcopy --strip-all --add-gnu-debuglink=sample.debug sample.elf sample.stripped.elf
objcopy --only-keep-debug sample.dwarf4.elf sample.dwarf4.debug
objcopy --strip-all --add-gnu-debuglink=sample.dwarf4.debug sample.dwarf4.elf sample.dwarf4.stripped.elf
objcopy --strip-debug sample.elf sample.mini && xz --force sample.mini
objcopy --strip-all --add-section .gnu_debugdata=sample.mini.xz sample.elf sample.mini.elf
