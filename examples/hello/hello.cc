// A request that reads its tenant, does some work and fails: three spans.
#include <fathom/trace.h>

#include <cstdio>

static void work(int items) {
  fathom::Span span("work");  // child of the active span
  span.set("items", items);
  span.event("half way").detail("left", items / 2);
}

int main() {
  fathom::Span request("hello", fathom::Kind::kServer);  // active until the end of its scope
  request.set("tenant", "acme");
  work(3);
  work(4);
  request.error("it was only an example");
  std::printf("trace %s\n", request.context().traceparent().substr(3, 32).c_str());
}
