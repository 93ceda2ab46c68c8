// The parts of the shop: each takes its command line without the program's and the part's name, and returns the
// program's exit status.
#pragma once

#include <string>
#include <vector>

namespace shop {

int run_inventory(const std::vector<std::string>& words);
int run_catalog(const std::vector<std::string>& words);
int run_gateway(const std::vector<std::string>& words);
int run_load(const std::vector<std::string>& words);
int run_all(const std::vector<std::string>& words);

}  // namespace shop
