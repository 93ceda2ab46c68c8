#include "query/timeline/origin.h"

#include "base/process_attributes.h"

namespace fathom::query {

namespace {

const store::ValueView* value_in_resource(const store::StoredSpan& stored, std::string_view key) {
  for (const store::AttributeView& attribute : stored.resource.attributes) {
    if (attribute.key == key) return &attribute.value;
  }
  return nullptr;
}

std::string text_in_resource(const store::StoredSpan& stored, std::string_view key) {
  const store::ValueView* value = value_in_resource(stored, key);
  return value == nullptr ? "" : store::value_text(*value);
}

}  // namespace

Origin origin_of(const store::StoredSpan& stored) {
  Origin origin{.service = std::string(stored.service),
                .host = text_in_resource(stored, "host.name"),
                .pid = text_in_resource(stored, "process.pid"),
                .instance = text_in_resource(stored, "service.instance.id")};
  const store::ValueView* pid = value_in_resource(stored, kProcessIdAttribute);
  const store::ValueView* node = value_in_resource(stored, kNodeIdAttribute);
  if (pid == nullptr || node == nullptr || node->type != store::ValueType::kString) return origin;
  origin.node_pid = kernel_id_of(*pid);
  origin.node_id = store::NodeId::from_hex_text(node->text).value_or(store::NodeId{});
  return origin;
}

uint32_t kernel_id_of(const store::ValueView& value) {
  const bool is_id = value.type == store::ValueType::kInt && value.as_int() > 0 && value.as_int() <= INT32_MAX;
  return is_id ? static_cast<uint32_t>(value.as_int()) : 0;
}

}  // namespace fathom::query
