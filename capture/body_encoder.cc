#include "capture/body_encoder.h"

#include <algorithm>
#include <cassert>

namespace fathom::capture {

namespace {

void put_value(EventValues& values, const Thread& thread, FieldType type, Value value) {
  switch (type) {
    case FieldType::kInteger:
      return values.integer(value.integer());
    case FieldType::kNatural:
      return values.natural(value.natural());
    case FieldType::kReal:
      return values.real(value.real());
    case FieldType::kTruth:
      return values.truth(value.truth());
    case FieldType::kText:
    case FieldType::kBytes:
      return values.text(thread.text_of(value), value.is_cut());
  }
}

}  // namespace

void BodyEncoder::turn_to(uint32_t tid) {
  end_block();
  tid_ = tid;
}

void BodyEncoder::end_block() {
  if (columns_.empty()) return;
  ThreadTotals written = columns_.write(tid_, sink_);
  ThreadTotals& totals = totals_[tid_];
  totals.events += written.events;
  totals.values += written.values;
  totals.text_bytes += written.text_bytes;
}

void BodyEncoder::finish(const Capture& capture) {
  end_block();
  assert(std::ranges::all_of(totals_, [&](const auto& of_thread) {
    return std::ranges::binary_search(capture.threads, of_thread.first, {}, &Thread::tid);
  }));
  const uint64_t tables_at = sink_.bytes();
  encode_tables(capture, totals_, sink_);
  sink_.append({reinterpret_cast<const char*>(&tables_at), sizeof tables_at});
}

void encode_events(const Capture& capture, BodyEncoder& encoder) {
  for (const Thread& thread : capture.threads) {
    for (const Event& event : thread.events) {
      assert(event.tracepoint < capture.tracepoints.size() && event.spans < capture.span_sets.size());
      const std::vector<Field>& fields = capture.tracepoints[event.tracepoint].fields;
      EventColumns& columns = encoder.events_of(thread.tid);
      EventValues values = columns.values(fields.size());
      const Field* field = fields.data();
      for (Value value : thread.values_of(event)) put_value(values, thread, (field++)->type, value);
      columns.add(event, fields.size(), values);
    }
  }
}

std::string encode_body(const Capture& capture) {
  PlainBody body;
  BodyEncoder encoder(body);
  encode_events(capture, encoder);
  encoder.finish(capture);
  return body.release();
}

}  // namespace fathom::capture
