// NotifySocket: words to whoever supervises this process, by the protocol of sd_notify(3): systemd, or `fathom up`.
//
// Purpose: "READY=1" when all listens, "STOPPING=1" when it ends. Without a supervisor nothing is said, and nothing
// fails. Thread safety: of_environment() before any thread; say() from any. Ownership: of its socket. Errors: false
// when the supervisor did not take the words; who waits for them gives up by itself.
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>

#include "base/fd.h"

namespace fathom {

class NotifySocket {
 public:
  // `address`: as $NOTIFY_SOCKET has it, a path or "@name"; anything else: nobody listens.
  explicit NotifySocket(std::string_view address);
  static NotifySocket of_environment();  // and the variable is removed, so that no child speaks for us

  bool open() const { return socket_.open(); }
  bool say(std::string_view lines);  // waits while the supervisor's queue is full
  // As sendmsg(2), to the supervisor; `header` without an address.
  ssize_t send(msghdr header, int flags);

 private:
  Fd socket_;
  std::string address_;  // as sockaddr_un has it
};

}  // namespace fathom
