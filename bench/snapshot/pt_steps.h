// The paper's tables and figures as figures of a report: one after another where the host has Intel PT, and one line
// each that says why not where it has not.
//
// Thread safety: one thread. Errors: those of pt_paper.h.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "bench/report.h"
#include "bench/snapshot/pt_paper.h"

namespace fathom::bench {

using WorkloadStarter = std::function<Result<std::unique_ptr<PtWorkload>>(const std::string& name)>;

// `why_not`: why this host has no PT; empty where it has.
Result<> add_paper(Report& report, const PtHost& host, const std::string& why_not, const WorkloadStarter& start,
                   int rounds);

}  // namespace fathom::bench
