// The survey's own figures, which ours stand beside.
//
// Source: M. Gebai and M. Dagenais, "Survey and Analysis of Kernel and Userspace Tracers on Linux", ACM Computing
// Surveys 51(2), 2018, tables IV, V and VI; Intel i7-3770 at 3.4 GHz, Linux 4.5, LTTng 2.9. Units: nanoseconds; the
// averages contain the 17 ns of its empty loop with its clock, which ours do not.
#pragma once

#include <string_view>

namespace fathom::bench::tracers {

struct SurveyFigures {
  std::string_view row;
  double average, deviation, p90;
  double instructions;  // 0: not given
};

inline constexpr SurveyFigures kSurveyEvents[] = {
    {"none", 17, 0, 17, 0},         {"lw_ust", 66, 2, 64, 0},       {"lttng_ust_small", 158, 27, 150, 1228},
    {"printf", 250, 65, 242, 1916}, {"tracef", 446, 73, 433, 3211},
};
inline constexpr SurveyFigures kSurveySyscalls[] = {
    {"none", 63, 0, 61, 0},
    {"ftrace", 300, 13, 296, 0},
    {"strace", 18991, 351, 18288, 0},
};

template <typename List>
const SurveyFigures* find_in_survey(const List& list, std::string_view row) {
  for (const SurveyFigures& figures : list) {
    if (figures.row == row) return &figures;
  }
  return nullptr;
}

}  // namespace fathom::bench::tracers
