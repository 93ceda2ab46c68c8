// The counters of what nodes are asked, looked up once: docs/control.md lists them.
//
// Thread safety: all of it. Ownership: the registry of base/metrics.h owns the series.
#pragma once

#include <string>

#include "base/metrics.h"

namespace fathom::collector {

struct RequestMetrics {
  explicit RequestMetrics(const std::string& kind)
      : sent(counter("fathom_node_requests_total", "Requests sent to nodes, by kind", label("kind", kind))),
        unsent(unanswered(kind, "unsent")),
        gone(unanswered(kind, "gone")),
        late(unanswered(kind, "deadline")) {}

  static Counter& unanswered(const std::string& kind, const char* reason) {
    return counter("fathom_node_requests_unanswered_total",
                   "Requests that a node gave no answer to, by kind and reason",
                   label("kind", kind) + "," + label("reason", reason));
  }

  Counter& sent;
  Counter& unsent;
  Counter& gone;
  Counter& late;
};

struct ControlMetrics {
  RequestMetrics captures{"capture"};
  RequestMetrics tracepoints{"tracepoints"};
  Counter& remote_sent =
      counter("fathom_node_requests_total", "Requests sent to nodes, by kind", label("kind", "remote_capture"));
  Counter& remote =
      counter("fathom_remote_captures_total", "Times that the other nodes were asked for a captured trace, too");
  Counter& remote_skipped = counter("fathom_remote_captures_skipped_total",
                                    "Captures whose traces the other nodes were not asked for: too many at once");
  Counter& holds_sent = counter("fathom_node_requests_total", "Requests sent to nodes, by kind", label("kind", "hold"));
  Counter& holds_skipped =
      counter("fathom_holds_skipped_total", "Slow traces that the other nodes were not told to hold: too many at once");
  Counter& dropped_reports =
      counter("fathom_refused_reports_dropped_total",
              "Nodes that were not asked for a trace, and of which no report says so: too many at once");
  Counter& lost_answers =
      counter("fathom_lost_node_answers_total", "What nodes said while too much of it waited to be looked at");

  static ControlMetrics& get() {
    static ControlMetrics metrics;
    return metrics;
  }
};

}  // namespace fathom::collector
