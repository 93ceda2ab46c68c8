// Scheduling of a timeline's threads as the kernel's own tracer would have told it: per processor, who left and who
// came, and who was woken by whom. Perfetto's page makes thread states from it.
//
// Purpose: captures know the switches of their own threads only. Where a stranger left for one of them, its state is
// not known, and said to be asleep. Thread safety: a plain function. What it takes is told to `meter`, and
// it ends when no more may be.
#pragma once

#include <functional>

#include "perfetto/trace.pb.h"
#include "query/timeline/meter.h"
#include "query/timeline/perfetto_names.h"

namespace fathom::query {

void write_scheduling(const Timeline& timeline, const PerfettoNames& names, Meter& meter,
                      const std::function<void(perfetto::protos::FtraceEventBundle)>& emit);

}  // namespace fathom::query
