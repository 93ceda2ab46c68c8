// What Intel PT is measured on: the workloads of Sharma and Dagenais's tables 1 and 2, written anew.
//
// Purpose: each is one turn of a workload, some milliseconds long. Thread safety: one at a time. Errors: a file that
// cannot be written ends the program; everything else computes. Source: "Hardware-Assisted Instruction Profiling and
// Latency Detection", section 4.2, and the micro-benchmarks of Julia that it names.
#pragma once

namespace fathom::bench::workloads {

// Table 1. Values are returned so that nothing is left out of the program.
double tail_factorial();
double parse_integers();
double fibonacci();
double matrix_statistics();
double pi_sum();
double sort_numbers();
double multiply_matrices();
double conditional_branches();  // "Omega"
double empty_loop();            // "Epsilon"
// The same source, compiled without and with optimization.
double canny_plain();
double canny_optimized();

// Table 2.
double random_file_access();
double write_memory();
double find_primes();

}  // namespace fathom::bench::workloads
