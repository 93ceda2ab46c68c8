// A plugin that brings the client library along, inside itself.
#include <fathom/event.h>
#include <fathom/trace.h>

extern "C" __attribute__((visibility("default"))) int plugin_work(int spans) {
  for (int i = 0; i < spans; i++) {
    fathom::Span span("plugin");
    span.set("number", i);
    FATHOM_EVENT_ON("plugin.event", "number", i);
  }
  return static_cast<int>(fathom_lost_spans() + fathom_lost_events());
}
