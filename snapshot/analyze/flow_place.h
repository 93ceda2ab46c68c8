// FlowPlaces: the function that a block lies in, by its address, remembered.
//
// Thread safety: none, one per thread. Ownership: views live as long as the names. Errors: none. Memory: bounded.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "snapshot/decode/code_names.h"

namespace fathom::snapshot {

class FlowPlaces {
 public:
  explicit FlowPlaces(const CodeNames& names) : names_(names) {}

  void run(int32_t pid) {
    if (pid != pid_) places_.clear();
    pid_ = pid;
  }
  // Maps change seldom: what was found at an address is taken to hold for a while.
  const CodePlace& find(uint64_t tsc, uint64_t ip) {
    if (places_.size() > kMostKept || tsc < from_ || tsc - from_ > kTicksKept) {
      places_.clear();
      from_ = tsc;
    }
    const auto [at, fresh] = places_.try_emplace(ip);
    if (fresh) at->second = names_.find(pid_, tsc, ip);
    return at->second;
  }

 private:
  static constexpr size_t kMostKept = 100'000;
  static constexpr uint64_t kTicksKept = 1u << 24;  // some milliseconds

  const CodeNames& names_;
  int32_t pid_ = -1;
  uint64_t from_ = 0;
  std::unordered_map<uint64_t, CodePlace> places_;
};

}  // namespace fathom::snapshot
