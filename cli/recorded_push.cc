#include "cli/recorded_push.h"

#include <csignal>

#include "cli/text.h"

namespace fathom::cli {

namespace {

// The recorder takes SIGINT for the end of its recording, which is over: it may not be for nothing.
class EndedBySignal {
 public:
  EndedBySignal() {
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    ::sigaction(SIGINT, &action, &before_);
  }
  ~EndedBySignal() { ::sigaction(SIGINT, &before_, nullptr); }
  EndedBySignal(const EndedBySignal&) = delete;
  EndedBySignal& operator=(const EndedBySignal&) = delete;

 private:
  struct sigaction before_ {};
};

Result<Shared> bring(const Context& context, const RecordedSnapshot& recorded, const Connect& connect) {
  auto api = connect();
  if (!api) return api.error();
  const EndedBySignal ended;
  return push_snapshot(context, *api, recorded.directory, recorded.id);
}

std::string push_command(const RecordedSnapshot& recorded) {
  return "fathom snapshot push " + recorded.id.substr(0, 8) + recorded.directory_words;
}

}  // namespace

RecordedPush push_recorded(const Context& context, const RecordedSnapshot& recorded, const Connect& connect,
                           bool push) {
  if (!push) return {false, "", push_command(recorded) + "   # to the server of its request"};
  const auto shared = bring(context, recorded, connect);
  if (!shared) {
    return {false, "it is kept here alone: " + printable(shared.error().message),
            push_command(recorded) + "   # when the server of its request is there (--url says where)"};
  }
  return {true, shared_text(*shared, "pushed to the server:"),
          "fathom trace " + recorded.trace_id + "   # its request, which names it"};
}

}  // namespace fathom::cli
