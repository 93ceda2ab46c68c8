// kill -9 of checking writers at full speed: event_crashes EVENT_WRITER [--kills N] [--seed N].
//
// Prints one JSON object; exits 1 when an event was lost, torn or doubled (or there is a hole that no write
// explains: it counts as lost).
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>

#include "tests/testing/event_crash.h"

using fathom::testing::EventVerdict;

int main(int argc, char** argv) {
  if (argc < 2) return 64;
  uint64_t kills = 200, seed = std::random_device()();
  for (int i = 2; i + 1 < argc; i += 2) {
    (std::string_view(argv[i]) == "--kills" ? kills : seed) = std::strtoull(argv[i + 1], nullptr, 10);
  }
  EventVerdict sum;
  for (uint32_t kill = 0; kill < kills; ++kill) {
    fathom::Result<EventVerdict> verdict =
        fathom::testing::crash_event_writer(fathom::testing::varied_plan(argv[1], seed, kill));
    if (!verdict) {
      std::fprintf(stderr, "%s\n", verdict.error().message.c_str());
      return 2;
    }
    if (!verdict->good()) std::fprintf(stderr, "kill %u: %s\n", kill, verdict->text().c_str());
    sum += *verdict;
  }
  std::fprintf(stderr, "seed %lu: %s\n", seed, sum.text().c_str());
  std::printf(
      "{\"kills\": %lu, \"seed\": %lu, \"committed\": %lu, \"found\": %lu, \"counted\": %lu, "
      "\"torn\": %lu, \"doubled\": %lu, \"odd_holes\": %lu, \"crash.events_lost\": %lu}\n",
      kills, seed, sum.committed, sum.found, sum.counted, sum.torn, sum.doubled, sum.odd_holes, sum.faults());
  return sum.good() ? 0 : 1;
}
