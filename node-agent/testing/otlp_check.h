// Whether bytes are an ExportTraceServiceRequest down to every attribute's value, whatever their texts are: protobuf's
// own parser refuses texts that are not UTF-8, which are the collector's to repair.
#pragma once

#include <google/protobuf/unknown_field_set.h>

#include <map>
#include <string>

namespace fathom::agent::testing {

enum class Part {
  kRequest,
  kResourceSpans,
  kResource,
  kScopeSpans,
  kScope,
  kSpan,
  kEvent,
  kLink,
  kStatus,
  kPair,
  kValue
};

// The fields of each part that are parts themselves.
inline const std::map<int, Part>& parts_of(Part part) {
  static const std::map<Part, std::map<int, Part>> kParts{
      {Part::kRequest, {{1, Part::kResourceSpans}}},
      {Part::kResourceSpans, {{1, Part::kResource}, {2, Part::kScopeSpans}}},
      {Part::kResource, {{1, Part::kPair}}},
      {Part::kScopeSpans, {{1, Part::kScope}, {2, Part::kSpan}}},
      {Part::kSpan, {{9, Part::kPair}, {11, Part::kEvent}, {13, Part::kLink}, {15, Part::kStatus}}},
      {Part::kEvent, {{3, Part::kPair}}},
      {Part::kLink, {{4, Part::kPair}}},
      {Part::kPair, {{2, Part::kValue}}}};
  static const std::map<int, Part> kNone;
  auto found = kParts.find(part);
  return found == kParts.end() ? kNone : found->second;
}

// Counts the spans.
inline bool is_otlp(const std::string& bytes, size_t* spans = nullptr, Part part = Part::kRequest) {
  google::protobuf::UnknownFieldSet fields;
  if (!fields.ParseFromString(bytes)) return false;
  if (part == Part::kSpan && spans != nullptr) ++*spans;
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::UnknownField& field = fields.field(i);
    auto nested = parts_of(part).find(field.number());
    if (nested == parts_of(part).end()) continue;
    if (field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) return false;
    if (!is_otlp(field.length_delimited(), spans, nested->second)) return false;
  }
  return true;
}

}  // namespace fathom::agent::testing
