#include "query/snapshots/snapshot_counters.h"

namespace fathom::query {

Counter& stored_snapshots() {
  static Counter& instance = counter("fathom_snapshots_stored_total", "Snapshots that were uploaded whole.");
  return instance;
}

Counter& stored_snapshot_images() {
  static Counter& instance = counter("fathom_snapshot_images_stored_total", "Images that were uploaded whole.");
  return instance;
}

Counter& rejected_uploads(std::string_view reason) {
  return counter("fathom_rejected_snapshot_uploads_total", "Uploads of snapshots and images that cannot be stored.",
                 label("reason", reason));
}

Counter& refused_uploads(std::string_view reason) {
  return counter("fathom_snapshot_uploads_refused_total",
                 "Pieces of snapshots and images that could not be taken then; uploaders try again.",
                 label("reason", reason));
}

Counter& abandoned_uploads(std::string_view reason) {
  return counter("fathom_lost_snapshot_uploads_total", "Uploads of snapshots and images that were never completed.",
                 label("reason", reason));
}

Counter& dropped_snapshots(std::string_view reason) {
  return counter("fathom_snapshots_dropped_total", "Snapshots that retention dropped.", label("reason", reason));
}

Counter& dropped_snapshot_bytes(std::string_view reason) {
  return counter("fathom_snapshots_dropped_bytes_total", "Bytes of snapshots that retention dropped.",
                 label("reason", reason));
}

Counter& dropped_snapshot_images() {
  static Counter& instance =
      counter("fathom_snapshot_images_dropped_total", "Images that were dropped because no snapshot names them.");
  return instance;
}

Counter& dropped_snapshot_results() {
  static Counter& instance =
      counter("fathom_snapshot_results_dropped_total", "Kept answers about snapshots that were dropped.");
  return instance;
}

Counter& unreadable_snapshots() {
  static Counter& instance =
      counter("fathom_snapshots_unreadable_total", "Stored snapshots that could not be read at a start.");
  return instance;
}

Gauge& snapshots_kept() {
  static Gauge& instance = gauge("fathom_snapshots", "Stored snapshots.");
  return instance;
}

Gauge& snapshot_bytes_kept() {
  static Gauge& instance = gauge("fathom_snapshot_bytes", "Bytes of stored snapshots, without their images.");
  return instance;
}

Gauge& snapshot_images_kept() {
  static Gauge& instance = gauge("fathom_snapshot_images", "Stored images of snapshots.");
  return instance;
}

Gauge& snapshot_image_bytes_kept() {
  static Gauge& instance = gauge("fathom_snapshot_image_bytes", "Bytes of stored images of snapshots.");
  return instance;
}

Gauge& snapshot_result_bytes_kept() {
  static Gauge& instance = gauge("fathom_snapshot_result_bytes", "Bytes of kept answers about snapshots.");
  return instance;
}

Gauge& uploads_under_way() {
  static Gauge& instance = gauge("fathom_snapshot_uploads", "Uploads of snapshots and images that are under way.");
  return instance;
}

void register_snapshot_counters() {
  for (auto* once : {stored_snapshots, stored_snapshot_images, dropped_snapshot_images, dropped_snapshot_results,
                     unreadable_snapshots}) {
    once();
  }
  for (auto* shown : {snapshots_kept, snapshot_bytes_kept, snapshot_images_kept, snapshot_image_bytes_kept,
                      snapshot_result_bytes_kept, uploads_under_way}) {
    shown();
  }
  for (const char* reason : {"hash", "damaged", "too_large"}) rejected_uploads(reason);
  for (const char* reason :
       {"disk_nearly_full", "write_failed", "sync_failed", "uploads", "unnamed_images", "drafts", "starting"}) {
    refused_uploads(reason);
  }
  for (const char* reason : {"idle", "replaced", "stopping"}) abandoned_uploads(reason);
  for (const char* reason : {"age", "size"}) {
    dropped_snapshots(reason);
    dropped_snapshot_bytes(reason);
  }
}

}  // namespace fathom::query
