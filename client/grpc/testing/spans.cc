#include "client/grpc/testing/spans.h"

#include <chrono>
#include <thread>

namespace fathom::grpc::testing {

namespace {

constexpr auto kPatience = std::chrono::seconds(60);

}  // namespace

std::vector<ReadSpan> take_spans(size_t count) {
  static client::testing::PoolReader reader = client::testing::PoolReader::of_this_process();
  std::vector<ReadSpan> spans;
  auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (spans.size() < count && std::chrono::steady_clock::now() < give_up) {
    for (ReadSpan& span : reader.take()) spans.push_back(std::move(span));
    std::this_thread::yield();
  }
  EXPECT_EQ(spans.size(), count);
  EXPECT_TRUE(reader.faults().empty());
  return spans;
}

const ReadSpan& only(const std::vector<ReadSpan>& spans, const std::string& name, uint8_t kind) {
  static const ReadSpan kNone{};
  const ReadSpan* found = nullptr;
  size_t count = 0;
  for (const ReadSpan& span : spans) {
    if (span.name != name || span.kind != kind) continue;
    found = &span;
    ++count;
  }
  EXPECT_EQ(count, 1u) << name << " of kind " << int{kind};
  return found == nullptr ? kNone : *found;
}

bool has_event(const ReadSpan& span, const std::string& name) {
  return span.find(pool::ItemTag::kEvent, name) != nullptr;
}

}  // namespace fathom::grpc::testing
