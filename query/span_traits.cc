#include "query/span_traits.h"

#include "base/process_attributes.h"
#include "base/span_threads.h"

namespace fathom::query {

namespace {

using store::ValueType;

// Attributes that are not compared: those of the resource that host and process have traits of their own for, and the
// thread attributes that agents add.
bool is_told_otherwise(TraitOf of, std::string_view key) {
  if (of == TraitOf::kAttribute) return key == kThreadId || key == kStartThreadId;
  if (of != TraitOf::kResource) return false;
  return key == "service.name" || key == "service.namespace" || key == kProcessIdAttribute || key == kNodeIdAttribute;
}

// A number that names one thing of many: a bound of it says nothing.
bool is_name(std::string_view key) {
  std::string_view last = key.substr(key.find_last_of("._") + 1);
  return last == "id" || last == "pid" || last == "tid" || last == "port" || last == "line" || last == "lineno";
}

void tally_value(TraitView trait, const store::ValueView& value, TraitTally& tally) {
  if (value.type == ValueType::kInt && !is_name(trait.key))
    tally.have_number(trait, static_cast<double>(value.as_int()), true);
  if (value.type == ValueType::kDouble) tally.have_number(trait, value.as_double(), false);
  if (value.type == ValueType::kString) {
    trait.value = value.text;
    return tally.have(trait);
  }
  std::string text = store::value_text(value);
  trait.value = text;
  tally.have(trait);
}

}  // namespace

std::string like_of(const store::StoredSpan& stored) {
  std::string name(stored.service_namespace);
  return name.append(1, '\0').append(stored.service).append(1, '\0').append(stored.operation);
}

void tally_span(const store::StoredSpan& stored, TraitTally& tally) {
  tally.have({.of = TraitOf::kOperation, .service = stored.service, .value = stored.operation});
  tally.have({.of = TraitOf::kService, .value = stored.service});
  tally.have({.of = TraitOf::kStatus, .value = store::status_code_name(stored.span.status)});
  tally_attributes(TraitOf::kAttribute, "", stored.span.attributes, tally);
  tally_attributes(TraitOf::kResource, "", stored.resource.attributes, tally);
}

void tally_attributes(TraitOf of, std::string_view service, std::span<const store::AttributeView> attributes,
                      TraitTally& tally) {
  for (const store::AttributeView& attribute : attributes) {
    if (attribute.value.type == ValueType::kCut || is_told_otherwise(of, attribute.key)) continue;
    tally_value({.of = of, .service = service, .key = attribute.key}, attribute.value, tally);
  }
}

}  // namespace fathom::query
