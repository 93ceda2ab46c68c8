#include "collector/ingest_metrics.h"

#include <string>

#include "store/limited_parts.h"

namespace fathom::collector {

namespace {

constexpr std::array<std::string_view, kTransports> kTransportLabels = {"grpc", "http_protobuf", "http_json", "agent"};

Counter* rejected_spans(std::string_view reason) {
  return &counter("fathom_rejected_spans_total", "Spans that were refused while the rest of their request was taken",
                  label("reason", reason));
}

// The series that the store's own limits count in, too: it is the same loss, only noticed earlier.
Counter* limited(std::string_view limit) {
  return &store::limited_parts(limit);
}

Counter* odd_spans(std::string_view oddity) {
  return &counter("fathom_odd_spans_total", "Spans that were stored though something about them is strange",
                  label("oddity", oddity));
}

Counter* loss_counter(Loss loss) {
  switch (loss) {
    case Loss::kAttributeDepth:
      return &counter("fathom_lost_attributes_total", "Attributes that were dropped from spans that were stored",
                      label("reason", "nested_too_deep"));
    case Loss::kAttributeLimit:
      return limited("attributes_per_span");
    case Loss::kEventLimit:
      return limited("events_per_span");
    case Loss::kLinkLimit:
      return limited("links_per_span");
    case Loss::kLinkId:
      return &counter("fathom_lost_links_total", "Links that were dropped from spans that were stored",
                      label("reason", "invalid_id"));
    case Loss::kTextRepaired:
      break;
  }
  return &counter("fathom_repaired_texts_total", "Texts that were not UTF-8 and were stored with U+FFFD in them");
}

}  // namespace

IngestMetrics::IngestMetrics() {
  for (size_t t = 0; t < kTransports; ++t) {
    std::string transport = label("transport", kTransportLabels[t]);
    for (size_t v = 0; v < kVerdicts; ++v) {
      requests_[t][v] = &counter("fathom_otlp_requests_total", "OTLP requests by how they were answered",
                                 transport + "," + label("result", verdict_label(static_cast<Verdict>(v))));
    }
    bytes_[t] = &counter("fathom_otlp_received_bytes_total", "Bytes of OTLP requests, after decompression", transport);
    spans_[t] = &counter("fathom_otlp_spans_total", "Spans that were acknowledged", transport);
  }
  for (size_t r = 0; r < kRejections; ++r) rejections_[r] = rejected_spans(rejection_label(static_cast<Rejection>(r)));
  for (size_t l = 0; l < kLosses; ++l) losses_[l] = loss_counter(static_cast<Loss>(l));
  for (size_t o = 0; o < kOddities; ++o) oddities_[o] = odd_spans(oddity_label(static_cast<Oddity>(o)));
  for (size_t a = 0; a < kRedactActions; ++a) {
    redacted_[a] = &counter("fathom_redacted_total", "Values and texts that redaction rules changed or removed",
                            label("action", redact_action_name(static_cast<RedactAction>(a))));
  }
  // The store's builder adds to these; they are listed before it first does.
  for (std::string_view limit : {"bytes_per_value", "bytes_per_name"}) limited(limit);
  rejected_by_store_ = rejected_spans("store");
  cut_off_ = &counter("fathom_otlp_cut_off_total", "gRPC requests that ended before all of their bytes were here");
  budget_used_ = &gauge("fathom_otlp_budget_used_bytes", "Memory taken by OTLP requests that are not answered yet");
}

void IngestMetrics::account(const Decoded& decoded) {
  for (size_t i = 0; i < kRejections; ++i) {
    if (decoded.rejections[i] > 0) rejections_[i]->add(decoded.rejections[i]);
  }
  for (size_t i = 0; i < kLosses; ++i) {
    if (decoded.losses[i] > 0) losses_[i]->add(decoded.losses[i]);
  }
  for (size_t i = 0; i < kOddities; ++i) {
    if (decoded.oddities[i] > 0) oddities_[i]->add(decoded.oddities[i]);
  }
  for (size_t i = 0; i < kRedactActions; ++i) {
    if (decoded.redacted[i] > 0) redacted_[i]->add(decoded.redacted[i]);
  }
}

}  // namespace fathom::collector
