// doctor_pt: says in one line, as JSON, whether snapshots by Intel PT work on this host, and if not, why.
//
// Exit status: 0, whatever the answer.
#include <cstdio>

#include "snapshot/record/pt/doctor.h"

int main() {
  using namespace fathom::snapshot;
  std::fputs(report_json(check_pt_of_this_host()).c_str(), stdout);
}
