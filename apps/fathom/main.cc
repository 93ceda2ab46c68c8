// fathom: the command line. Everything is in cli/; this is where it meets the process.
#include <string>
#include <vector>

#include "cli/program.h"

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  return static_cast<int>(fathom::cli::run_program(words, fathom::cli::process_context()));
}
