// A traced program that does as it is told: a line "-" or a traceparent begins a span of that parent, which is answered
// with the span's own traceparent; the next line, whatever it is, ends it, and is answered with "ended".
#include <fathom/trace.h>

#include <iostream>
#include <optional>
#include <string>

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    fathom::DetachedSpan span("relay", fathom::Context::extract(line), fathom::Kind::kServer);
    std::cout << span.context().traceparent() << std::endl;
    std::getline(std::cin, line);
    span.end();
    std::cout << "ended" << std::endl;
  }
}
