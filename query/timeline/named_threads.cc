#include "query/timeline/named_threads.h"

#include "base/span_threads.h"
#include "query/timeline/origin.h"

namespace fathom::query {

NamedThreads named_threads(const store::SpanView& span) {
  NamedThreads named;
  for (const store::AttributeView& attribute : span.attributes) {
    if (attribute.key == kThreadId) named.end_tid = kernel_id_of(attribute.value);
    if (attribute.key == kStartThreadId) named.start_tid = kernel_id_of(attribute.value);
  }
  if (named.end_tid == 0) return {};
  if (named.start_tid == 0) named.start_tid = named.end_tid;
  return named;
}

}  // namespace fathom::query
