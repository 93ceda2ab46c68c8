// Whatever a program tells its spans, in whatever order: a record stays within its memory, says what it holds, and what
// it borrowed comes back.
#include <cstdlib>
#include <string>

#include "client/items.h"
#include "client/testing/pool_reader.h"
#include "fathom/trace.h"

namespace {

using namespace fathom::client;  // NOLINT(google-build-using-namespace)

constexpr size_t kSpans = 80;  // more than there is memory to borrow for

void require(bool condition) {
  if (!condition) std::abort();
}

// The input, a few bytes at a time; zeros at its end.
class Script {
 public:
  Script(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool done() const { return at_ >= size_; }
  uint8_t byte() { return done() ? 0 : data_[at_++]; }
  // Short ones, and those about as long as what there is room for, or as a text may be; memory of their own, so that
  // ASan sees their ends.
  std::string text() {
    const uint8_t kind = byte();
    const size_t base = kind < 192 ? 360 : kind < 224 ? 3800 : 7900;
    const size_t size = kind < 128 ? kind % 24 : base + byte() * 2;
    return std::string(size, static_cast<char>(kind));
  }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
};

void check(fathom::DetachedSpan& span) {
  if (span.open()) require(state_of(span.raw()).bytes <= most_bytes(state_of(span.raw())));
}

fathom::Context some_context(const std::string& text) {
  const auto context =
      fathom::Context::extract("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "a=" + text.substr(0, 200));
  require(context.has_value());
  return *context;
}

void tell(fathom::DetachedSpan& span, Script& script) {
  switch (script.byte() % 12) {
    case 0:
    case 1:
      span.set(script.text(), script.text());
      break;
    case 2:
      span.set(script.text(), script.byte());
      break;
    case 3:
      span.set(script.text(), "");
      break;
    case 4:
      span.event(script.text());
      break;
    case 5:
      span.detail(script.text(), script.text());
      break;
    case 6:
      span.link(some_context(script.text()));
      break;
    case 7:
      span.rename(script.text());
      break;
    case 8:
      span.error(script.text());
      break;
    case 9:
      span = fathom::DetachedSpan(script.text(), some_context(script.text()));
      break;
    case 10:
      span.end();
      break;
    default:
      span.discard();
      break;
  }
  check(span);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static testing::PoolReader reader = testing::PoolReader::of_this_process();
  Script script(data, size);
  {
    fathom::DetachedSpan spans[kSpans];
    while (!script.done()) {
      fathom::DetachedSpan& span = spans[script.byte() % kSpans];
      if (!span.open()) span = fathom::DetachedSpan(script.text());
      tell(span, script);
      reader.take();
    }
  }
  reader.take();
  require(reader.faults().empty());
  require(live().slabs.taken.load() == 0);
  return 0;
}
