// The shop: three services that are traced with fathom, and a load, in one program.
#include <cstdio>
#include <string>
#include <vector>

#include "parts.h"

namespace {

struct Part {
  const char* name;
  int (*run)(const std::vector<std::string>& words);
  const char* flags;
};

constexpr Part kParts[] = {
    {"run", shop::run_all,
     "[--seconds N] [--rate R] [--seed S] [--items N] [--directory DIR]   all of it, on free ports"},
    {"inventory", shop::run_inventory, "[--listen ADDR] [--items N] [--snapshot FILE] [--snapshot-every-ms N]"},
    {"catalog", shop::run_catalog, "[--listen ADDR] [--inventory ADDR]"},
    {"gateway", shop::run_gateway, "[--listen ADDR] [--catalog ADDR] [--inventory ADDR]"},
    {"load", shop::run_load, "[--gateway ADDR] [--seconds N (0: until Ctrl-C)] [--rate R] [--seed S]"}};

int usage() {
  std::fprintf(stderr, "usage: shop PART [flags]\n\n");
  for (const Part& part : kParts) std::fprintf(stderr, "  shop %-9s %s\n", part.name, part.flags);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return usage();
  for (const Part& part : kParts) {
    if (std::string(part.name) == argv[1]) return part.run(std::vector<std::string>(argv + 2, argv + argc));
  }
  return usage();
}
