// tracer-rows: the rows that need nothing but this tree. See bench/tracers/row_program.h.
#include "bench/tracers/own_rows.h"
#include "bench/tracers/plain_rows.h"
#include "bench/tracers/row_program.h"

int main(int argc, char** argv) {
  using namespace fathom::bench::tracers;
  std::vector<RowEntry> rows = plain_rows();
  for (const auto& more : {own_rows(), rows_without_clock()}) rows.insert(rows.end(), more.begin(), more.end());
  return run_row_program(rows, argc, argv);
}
