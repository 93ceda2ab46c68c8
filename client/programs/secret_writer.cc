// A traced program whose spans and events hold secrets, of the same words wherever it can say one:
// redaction_agent_test.py.
//
//   pay                     two spans of one trace, with secrets in names, attributes, events, links and the status,
//   and
//                           with events; then fathom::trigger() with a reason, and the end of the spans
//   hold MILLISECONDS       a span with a secret in its name, open for so long
//   end
//
// To each it answers a line "TRACE_ID", when the last span has ended.
#include <fathom/event.h>
#include <fathom/trace.h>
#include <sys/prctl.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

namespace {

constexpr int64_t kCard = 4111111111111111;
constexpr const char* kEmail = "ann@secret.example";
constexpr const char* kPassword = "hunter2hunter2";

void sleep_ms(uint64_t milliseconds) {
  const timespec pause = {static_cast<time_t>(milliseconds / 1000), static_cast<long>(milliseconds % 1000 * 1'000'000)};
  nanosleep(&pause, nullptr);
}

std::string trace_id(const fathom::Span& span) {
  return span.context().traceparent().substr(3, 32);
}

void answer(const std::string& trace) {
  std::printf("%s\n", trace.c_str());
  std::fflush(stdout);
}

void write_begin() {
  FATHOM_EVENT_ON("pay.begin", "user.email", kEmail, "password", kPassword, "note", "of card 4111111111111111");
}

void write_card() {
  FATHOM_EVENT_ON("pay.card", "number", kCard, "attempt", 1);
}

void write_other_number() {
  FATHOM_EVENT_ON("pay.card", "number", int64_t{12}, "attempt", 2);
}

void write_events() {
  write_begin();
  write_card();
  write_other_number();
}

void pay() {
  fathom::Span span("POST /cards/4111111111111111", fathom::Kind::kServer);
  span.set("user.email", kEmail).set("password", kPassword).set("card", kCard).set("amount", 12);
  fathom::Span part("charge 4111111111111111");
  part.set("user.email", kEmail).event("paid by 4111111111111111").detail("user.email", kEmail);
  part.link(span.context()).detail("note", "of card 4111111111111111").error("card 4111111111111111 declined");
  write_events();
  fathom::trigger("card 4111111111111111 declined");
  sleep_ms(20);
  const std::string trace = trace_id(span);
  part.end();
  span.end();
  answer(trace);
}

void hold(uint64_t milliseconds) {
  fathom::Span span("GET /cards/4111111111111111");
  write_events();
  sleep_ms(milliseconds);
  const std::string trace = trace_id(span);
  span.end();
  answer(trace);
}

}  // namespace

int main() {
  prctl(PR_SET_NAME, "card-411111111");  // 15 bytes are what the kernel keeps
  char line[256];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    line[std::strcspn(line, "\n")] = '\0';
    uint64_t milliseconds = 0;
    if (std::sscanf(line, "hold %lu", &milliseconds) == 1) {
      hold(milliseconds);
    } else if (std::strcmp(line, "pay") == 0) {
      pay();
    } else {
      return 0;
    }
  }
}
