#include "apps/recorder/push.h"

#include "apps/recorder/report.h"
#include "cli/recorded_push.h"

namespace fathom {

std::optional<bool> push_to_server(const RecorderOptions& options, const snapshot::SnapshotId& id,
                                   const TraceId& trace_id, const cli::Context& context) {
  if (trace_id.is_zero()) return std::nullopt;
  const cli::RecordedSnapshot recorded{options.directory, options.directory_words, id.hex(), trace_id.hex()};
  const cli::RecordedPush push = cli::push_recorded(context, recorded, options.connect, options.push);
  context.err((push.text.empty() ? "" : report_line(push.text)) + report_line("next: " + push.next));
  return push.stored;
}

}  // namespace fathom
