// What protobuf itself parses, our decoder must take too, and find the same spans in it. Header-only, because tests and
// fuzz targets share it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <google/protobuf/stubs/logging.h>

#include "collector/otlp/decoded.h"
#include "otlp/trace_service.pb.h"

namespace fathom::collector::testing {

using ProtoRequest = opentelemetry::proto::collector::trace::v1::ExportTraceServiceRequest;

inline std::vector<const opentelemetry::proto::trace::v1::Span*> spans_of(const ProtoRequest& request) {
  std::vector<const opentelemetry::proto::trace::v1::Span*> spans;
  for (const auto& resource_spans : request.resource_spans()) {
    for (const auto& scope_spans : resource_spans.scope_spans()) {
      for (const auto& span : scope_spans.spans()) spans.push_back(&span);
    }
  }
  return spans;
}

inline bool is_acceptable(const opentelemetry::proto::trace::v1::Span& span) {
  auto is_id = [](const std::string& id, size_t size) {
    return id.size() == size && id.find_first_not_of('\0') != std::string::npos;
  };
  return is_id(span.trace_id(), 16) && is_id(span.span_id(), 8) &&
         (span.parent_span_id().empty() || span.parent_span_id().size() == 8);
}

// Empty when both agree; otherwise what differs.
inline std::string compare_span(const opentelemetry::proto::trace::v1::Span& theirs, const store::SpanView& ours) {
  if (theirs.trace_id() != ours.trace_id.view()) return "trace id";
  if (theirs.span_id() != ours.span_id.view()) return "span id";
  if (theirs.name().substr(0, 1024).substr(0, ours.name.size()) != ours.name) return "name";
  if (theirs.start_time_unix_nano() != ours.start_unix_nano) return "start";
  if (theirs.end_time_unix_nano() != ours.end_unix_nano) return "end";
  if (theirs.flags() != ours.flags) return "flags";
  uint64_t dropped = uint64_t{ours.dropped_attributes_count} - theirs.dropped_attributes_count();
  bool saturated = ours.dropped_attributes_count == UINT32_MAX;
  if (!saturated && static_cast<uint64_t>(theirs.attributes_size()) != ours.attributes.size() + dropped) {
    return "attributes";
  }
  for (size_t i = 0; dropped == 0 && i < ours.attributes.size(); ++i) {
    const std::string& key = theirs.attributes(static_cast<int>(i)).key();
    if (key.substr(0, ours.attributes[i].key.size()) != ours.attributes[i].key) return "an attribute's key";
  }
  return "";
}

// Empty when the decoder and protobuf agree about `body`, or when protobuf does not parse it.
inline std::string compare_with_protobuf(std::string_view body) {
  google::protobuf::LogSilencer no_complaints_about_utf8;
  ProtoRequest request;
  if (!request.ParseFromArray(body.data(), static_cast<int>(body.size()))) return "";
  Result<Decoded> decoded = decode_protobuf(body, {}, [](uint64_t) { return Result<>(); });
  if (!decoded.ok()) return "protobuf accepts it, we do not: " + decoded.error().message;
  std::vector<const opentelemetry::proto::trace::v1::Span*> theirs;
  for (const auto* span : spans_of(request)) {
    if (is_acceptable(*span)) theirs.push_back(span);
  }
  if (theirs.size() != decoded->accepted_spans) return "another number of spans";
  if (spans_of(request).size() != decoded->accepted_spans + decoded->rejected_spans) return "spans that nobody counted";
  size_t at = 0;
  for (const store::BatchPtr& batch : decoded->batches) {
    store::Batch::Scratch scratch;
    for (const store::Batch::Row& row : batch->rows()) {
      std::string difference = compare_span(*theirs[at++], batch->span(row, scratch));
      if (!difference.empty()) return "span " + std::to_string(at - 1) + " differs in its " + difference;
    }
  }
  return at == theirs.size() ? "" : "batches hold another number of spans";
}

}  // namespace fathom::collector::testing
