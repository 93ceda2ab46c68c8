/* The C interface as C11 sees it: every function once, and every type that an event has. Exits with 0 when what can be
   seen from here is right; c_program_test.cc reads what it leaves in its pools. */
#include <fathom/event_c.h>
#include <fathom/trace_c.h>
#include <stdio.h>
#include <string.h>

static fathom_text text(const char* string) {
  fathom_text view = {string, strlen(string)};
  return view;
}

static int check(int condition, const char* what) {
  if (!condition) fprintf(stderr, "wrong: %s\n", what);
  return condition ? 0 : 1;
}

static void tell(fathom_span* span, const fathom_context* other) {
  fathom_span_set_string(span, text("tenant"), text("acme"));
  fathom_span_set_int(span, text("items"), 3);
  fathom_span_set_double(span, text("price"), 2.5);
  fathom_span_set_bool(span, text("paid"), 1);
  fathom_span_add_event(span, text("retry"));
  fathom_detail_string(span, text("why"), text("timeout"));
  fathom_detail_int(span, text("attempt"), 2);
  fathom_detail_double(span, text("after"), 0.25);
  fathom_detail_bool(span, text("last"), 0);
  fathom_span_add_link(span, other);
  fathom_span_set_name(span, text("renamed"));
  fathom_span_set_status(span, FATHOM_ERROR, text("card refused"));
}

/* Every type that an event has in C, with values that only that type has. */
static void small_events(int number) { /* NOLINT(readability-function-size) */
  FATHOM_EVENT("c.off", "number", number);
  FATHOM_EVENT_ON("c.none");
  FATHOM_EVENT_ON("c.small", "bool", (_Bool)1, "char", (char)'x', "short", (short)-30000, "uchar", (unsigned char)200,
                  "ushort", (unsigned short)60000, "int", -number, "unsigned", 4000000000U, "float", 0.5F);
}

static void large_events(void) { /* NOLINT(readability-function-size) */
  const char* words = "words";
  fathom_bytes bytes = {"\0\1", 2};
  FATHOM_EVENT_ON("c.large", "long", -7000000000L, "ulong", 18000000000000000000UL, "llong", -9000000000LL, "ullong",
                  18000000000000000001ULL, "double", 2.5, "words", words, "text", text("text"), "bytes", bytes);
}

static void long_events(void) { /* NOLINT(readability-function-size) */
  char many[301];
  memset(many, 'm', 300);
  many[300] = 0;
  FATHOM_EVENT_ON("c.long", "schar", (signed char)-3, "chars", many, "after", 9);
}

static void events(void) {
  int i;
  for (i = 0; i < 100; i++) {
    small_events(i);
    large_events();
    long_events();
  }
}

static void serve(const fathom_context* first, const fathom_context* second) { /* NOLINT(readability-function-size) */
  fathom_context both[2];
  fathom_serving serving;
  both[0] = *first;
  both[1] = *second;
  fathom_serve_begin(&serving, both, 2);
  FATHOM_EVENT_ON("c.served");
  fathom_serve_end(&serving);
  FATHOM_EVENT_ON("c.in.span");
}

int main(void) {
  fathom_span outer, inner, thrown_away;
  fathom_context remote, active;
  char parent[56], state[640];
  int wrong = 0;
  fathom_set_resource(text("service.name=c-program"));
  wrong +=
      check(fathom_extract(text("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), text("a=1"), &remote) == 0,
            "extract");
  wrong += check(fathom_extract(text("nonsense"), text(""), &active) == -1, "nonsense is no context");
  fathom_span_start(&outer, text("outer"), FATHOM_SERVER, &remote);
  fathom_span_activate(&outer);
  fathom_span_start_here(&inner, text("inner"), FATHOM_CLIENT);
  tell(&inner, &remote);
  fathom_span_context(&inner, &active);
  fathom_inject_parent(&active, parent);
  wrong += check(strlen(parent) == 55 && memcmp(parent, "00-0af7651916cd43dd8448eb211c80319c-", 36) == 0, "inject");
  wrong += check(fathom_inject_state(&active, state, sizeof state) == 3 && strcmp(state, "a=1") == 0, "tracestate");
  serve(&remote, &active);
  fathom_trigger(text("c asks"));
  wrong += check(fathom_active_context(&active) == 0, "active");
  fathom_span_start_here(&thrown_away, text("never"), FATHOM_INTERNAL);
  fathom_span_discard(&thrown_away);
  fathom_span_end(&inner);
  fathom_span_deactivate(&outer);
  fathom_span_end(&outer);
  wrong += check(inner.opaque[0] == 0 && outer.opaque[0] == 0 && thrown_away.opaque[0] == 0, "ended spans are none");
  wrong += check(fathom_lost_spans() == 0, "lost");
  events();
  wrong += check(fathom_lost_events() == 0, "lost events");
  wrong += check(fathom_flush(0) == -1, "nobody took the two spans");
  return wrong;
}
