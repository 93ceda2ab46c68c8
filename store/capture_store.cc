#include "store/capture_store.h"

namespace fathom::store {

bool CaptureFilter::matches(const CaptureInfo& info) const {
  if (is_skipped(info.id) || !range.contains(info.start_unix_nano)) return false;
  if (trace_id && *trace_id != info.trace_id) return false;
  if (process && (process->node_id != info.node_id || process->pid != info.pid)) return false;
  if (service && *service != info.service) return false;
  return !trigger || *trigger == info.trigger;
}

}  // namespace fathom::store
