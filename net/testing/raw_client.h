// RawClient: a blocking TCP peer for tests that must send what no proper client would.
//
// Ownership: closes its socket. Every read ends within 20 s, so that a broken server fails a test instead of hanging
// it.
#pragma once

#include <string>
#include <string_view>

namespace fathom::net::testing {

class RawClient {
 public:
  explicit RawClient(std::string_view address);  // "127.0.0.1:PORT"
  RawClient(RawClient&& other) noexcept;
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  ~RawClient();

  bool connected() const { return fd_ >= 0; }
  bool send(std::string_view bytes);
  void finish_sending();                          // closes our side
  void reset();                                   // goes away at once, with RST
  std::string read_until(std::string_view mark);  // what came up to and with `mark`, or until the end
  std::string read_all();                         // until the server closes
  // One whole answer with Content-Length, head and body.
  std::string read_answer(bool has_body = true);

 private:
  bool read_some();

  int fd_ = -1;
  std::string kept_;
};

// The number in the "HTTP/1.1 NNN" of an answer; 0 when it is none.
int status_of(std::string_view answer);
std::string body_of(std::string_view answer);

}  // namespace fathom::net::testing
