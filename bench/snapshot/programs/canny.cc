// A Canny edge detector on a picture of its own making. Compiled twice: FATHOM_CANNY is the function's name.
#include <cmath>
#include <cstddef>
#include <vector>

#include "bench/snapshot/programs/workloads.h"

namespace fathom::bench::workloads {
namespace {

constexpr int kSide = 192;
using Picture = std::vector<float>;

float& at(Picture& picture, int x, int y) {
  return picture[static_cast<size_t>(y) * kSide + static_cast<size_t>(x)];
}
float get(const Picture& picture, int x, int y) {
  return picture[static_cast<size_t>(y) * kSide + static_cast<size_t>(x)];
}

Picture rings() {
  constexpr int kMiddle = kSide / 2;
  Picture picture(kSide * kSide);
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const float radius = std::hypot(static_cast<float>(x - kMiddle), static_cast<float>(y - kMiddle));
      at(picture, x, y) = static_cast<int>(radius / 12) % 2 == 0 ? 200.0f : 30.0f;
    }
  }
  return picture;
}

template <typename Kernel>
Picture filtered(const Picture& from, const Kernel& kernel) {
  Picture to(from.size());
  for (int y = 1; y + 1 < kSide; ++y) {
    for (int x = 1; x + 1 < kSide; ++x) {
      float sum = 0;
      for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) sum += get(from, x + dx, y + dy) * kernel[dy + 1][dx + 1];
      }
      at(to, x, y) = sum;
    }
  }
  return to;
}

// Only what is the strongest across the edge stays.
Picture thinned(const Picture& across, const Picture& down) {
  Picture thin(across.size());
  for (int y = 1; y + 1 < kSide; ++y) {
    for (int x = 1; x + 1 < kSide; ++x) {
      const float gx = get(across, x, y), gy = get(down, x, y);
      const int dx = std::fabs(gx) >= std::fabs(gy) ? 1 : 0;
      const int dy = 1 - dx;
      const float here = std::hypot(gx, gy);
      const float before = std::hypot(get(across, x - dx, y - dy), get(down, x - dx, y - dy));
      const float behind = std::hypot(get(across, x + dx, y + dy), get(down, x + dx, y + dy));
      at(thin, x, y) = here >= before && here >= behind ? here : 0;
    }
  }
  return thin;
}

int count_edges(const Picture& thin) {
  int edges = 0;
  for (int y = 1; y + 1 < kSide; ++y) {
    for (int x = 1; x + 1 < kSide; ++x) {
      const float here = get(thin, x, y);
      const bool beside_strong = get(thin, x - 1, y) > 200 || get(thin, x + 1, y) > 200;
      if (here > 200 || (here > 80 && beside_strong)) ++edges;
    }
  }
  return edges;
}

constexpr float kBlur[3][3] = {
    {1 / 16.f, 2 / 16.f, 1 / 16.f}, {2 / 16.f, 4 / 16.f, 2 / 16.f}, {1 / 16.f, 2 / 16.f, 1 / 16.f}};
constexpr float kAcross[3][3] = {{-1, 0, 1}, {-2, 0, 2}, {-1, 0, 1}};
constexpr float kDown[3][3] = {{-1, -2, -1}, {0, 0, 0}, {1, 2, 1}};

}  // namespace

double FATHOM_CANNY() {
  const Picture blurred = filtered(rings(), kBlur);
  return count_edges(thinned(filtered(blurred, kAcross), filtered(blurred, kDown)));
}

}  // namespace fathom::bench::workloads
