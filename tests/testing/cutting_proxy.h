// CuttingProxy: a TCP connection's way on 127.0.0.1 that a test can cut, hold up, and send elsewhere.
//
// Purpose: what networks do to a stream. Thread safety: all of it; it has a thread of its own. Ownership: connections
// end with it. Errors: none; a target that nobody listens at is a connection that closes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace fathom::testing {

class CuttingProxy {
 public:
  CuttingProxy();
  ~CuttingProxy();

  std::string address() const;  // where clients connect
  void lead_to(const std::string& target);
  // Each connection made from now on is cut after so many bytes, either way together; 0: never.
  void cut_after(uint64_t bytes);
  void cut_all();
  void hold(bool held);  // held: nothing passes, nothing is closed
  uint64_t connections() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fathom::testing
