// Rules for fuzz targets of the decoders, and what must hold of any request under them: no digit is left in what the
// rules cover. Header-only, because fuzz targets share it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collector/otlp/decoded.h"
#include "redact/redactor.h"
#include "store/batch.h"
#include "store/span.h"

namespace fathom::collector::testing {

inline const Redactor& no_digits() {
  static const std::shared_ptr<const Redactor> kRedactor = *Redactor::make(
      std::vector<std::string>{"hash key h*", "mask key *.m", "drop key d", "mask value [0-9]"}, RedactKey{});
  return *kRedactor;
}

inline bool has_digit(std::string_view text) {
  return text.find_first_of("0123456789") != std::string_view::npos;
}

// Keys are not covered, nor the hashes of the attributes h*.
inline bool has_digits(std::span<const store::AttributeView> attributes) {
  for (const store::AttributeView& attribute : attributes) {
    if (attribute.key.starts_with('h')) continue;
    if (attribute.key == "d") return true;
    const bool is_map = attribute.value.type == store::ValueType::kJson;  // has keys, and hashes of members
    if (!is_map && has_digit(attribute.value.type == store::ValueType::kBytes ? attribute.value.text
                                                                              : store::value_text(attribute.value))) {
      return true;
    }
  }
  return false;
}

inline bool has_digits(const Decoded& decoded) {
  for (const store::BatchPtr& batch : decoded.batches) {
    store::Batch::Scratch scratch;
    for (const store::Batch::Row& row : batch->rows()) {
      const store::SpanView span = batch->span(row, scratch);
      if (has_digit(span.name) || has_digit(span.status_message) || has_digit(span.trace_state)) return true;
      if (has_digits(span.attributes)) return true;
      for (const store::EventView& event : span.events) {
        if (has_digit(event.name) || has_digits(event.attributes)) return true;
      }
      for (const store::LinkView& link : span.links) {
        if (has_digit(link.trace_state) || has_digits(link.attributes)) return true;
      }
    }
  }
  return false;
}

}  // namespace fathom::collector::testing
