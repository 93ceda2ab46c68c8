// Counters of the server's snapshots: what was stored, refused, dropped, and what there is; each named once.
//
// Thread safety: all of it. Units: in the names.
#pragma once

#include <string_view>

#include "base/metrics.h"

namespace fathom::query {

Counter& stored_snapshots();
Counter& stored_snapshot_images();
// hash, damaged, too_large
Counter& rejected_uploads(std::string_view reason);
// disk_nearly_full, write_failed, sync_failed, uploads, unnamed_images, drafts, starting
Counter& refused_uploads(std::string_view reason);
// idle, replaced, stopping
Counter& abandoned_uploads(std::string_view reason);
// age, size
Counter& dropped_snapshots(std::string_view reason);
Counter& dropped_snapshot_bytes(std::string_view reason);
Counter& dropped_snapshot_images();
Counter& dropped_snapshot_results();
Counter& unreadable_snapshots();
Gauge& snapshots_kept();
Gauge& snapshot_bytes_kept();
Gauge& snapshot_images_kept();
Gauge& snapshot_image_bytes_kept();
Gauge& snapshot_result_bytes_kept();
Gauge& uploads_under_way();

void register_snapshot_counters();

}  // namespace fathom::query
