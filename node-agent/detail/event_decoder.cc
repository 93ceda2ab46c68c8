#include "node-agent/detail/event_decoder.h"

#include <algorithm>
#include <charconv>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/utf8.h"

namespace fathom::agent {

namespace {

using pool::FieldType;

// The values of a payload lie one behind the other, without padding.
void take_text(ByteReader& reader, FieldValue& value) {
  uint32_t size = reader.fixed<uint16_t>();
  value.cut = (size & pool::kCutBit) != 0;
  // A text has at most what a record holds; the bit is one of those that sizes never need.
  value.text = reader.raw(size & (pool::kCutBit - 1));
}

void take_value(ByteReader& reader, FieldValue& value) {
  switch (value.field->type) {
    case FieldType::kInt8:
      value.integer = reader.fixed<int8_t>();  // NOLINT(bugprone-signed-char-misuse): to keep its sign is the point
      return;
    case FieldType::kInt16:
      value.integer = reader.fixed<int16_t>();
      return;
    case FieldType::kInt32:
      value.integer = reader.fixed<int32_t>();
      return;
    case FieldType::kInt64:
      value.integer = reader.fixed<int64_t>();
      return;
    case FieldType::kUint8:
    case FieldType::kBool:
      value.natural = reader.fixed<uint8_t>();
      return;
    case FieldType::kUint16:
      value.natural = reader.fixed<uint16_t>();
      return;
    case FieldType::kUint32:
      value.natural = reader.fixed<uint32_t>();
      return;
    case FieldType::kUint64:
      value.natural = reader.fixed<uint64_t>();
      return;
    case FieldType::kFloat:
      value.real = static_cast<double>(reader.fixed<float>());
      return;
    case FieldType::kDouble:
      value.real = reader.fixed<double>();
      return;
    case FieldType::kString:
    case FieldType::kBytes:
      return take_text(reader, value);
  }
}

void add(WalkCounts& sum, const WalkCounts& counts) {
  sum.records += counts.records;
  sum.holes += counts.holes;
  sum.hole_bytes += counts.hole_bytes;
  sum.unknown_records += counts.unknown_records;
  sum.malformed_records += counts.malformed_records;
  sum.dropped_spans += counts.dropped_spans;
}

// ---- text
// --------------------------------------------------------------------------------------------------------------

// What a terminal would take for something else, and what is no character, as \xNN.
void append_escaped(std::string& out, std::string_view text) {
  while (!text.empty()) {
    size_t length = utf8_length(text);
    bool plain = length > 1 || (length == 1 && text[0] >= ' ' && text[0] != 0x7f);
    if (!plain) {
      out.append("\\x").append(to_hex(text.substr(0, 1)));
    } else {
      if (text[0] == '"' || text[0] == '\\') out += '\\';
      out.append(text, 0, length);
    }
    text.remove_prefix(plain ? length : 1);
  }
}

template <typename Number>
void append_number(std::string& out, Number number) {
  char digits[32];
  std::to_chars_result result = std::to_chars(digits, digits + sizeof digits, number);
  out.append(digits, result.ptr);
}

void append_value(std::string& out, const FieldValue& value) {
  FieldType type = value.field->type;
  if (type <= FieldType::kInt64) return append_number(out, value.integer);
  if (type <= FieldType::kUint64) return append_number(out, value.natural);
  if (type == FieldType::kFloat) return append_number(out, static_cast<float>(value.real));
  if (type == FieldType::kDouble) return append_number(out, value.real);
  if (type == FieldType::kBool) {
    out += value.natural != 0 ? "true" : "false";
  } else if (type == FieldType::kString) {
    out += '"';
    append_escaped(out, value.text);
    out += '"';
  } else {
    out.append("0x").append(to_hex(value.text));
  }
  if (value.cut) out += "...";
}

// The oldest first, so that who wants the events by time finds them nearly so.
std::vector<const ChunkCopy*> by_age(const DetailSnapshot& snapshot) {
  std::vector<const ChunkCopy*> chunks;
  chunks.reserve(snapshot.chunks.size());
  for (const ChunkCopy& chunk : snapshot.chunks) chunks.push_back(&chunk);
  std::ranges::stable_sort(chunks, {}, [](const ChunkCopy* chunk) { return chunk->view.first_ticks; });
  return chunks;
}

}  // namespace

bool decode_payload(const Tracepoint& tracepoint, std::string_view payload, bool exact,
                    std::vector<FieldValue>& values) {
  values.clear();
  ByteReader reader(payload);
  for (const TracepointField& field : tracepoint.fields) {
    FieldValue& value = values.emplace_back();
    value.field = &field;
    take_value(reader, value);
    if (!reader.failed()) continue;
    values.pop_back();
    return false;
  }
  return !exact || reader.at_end();
}

DecodeCounts decode(const DetailSnapshot& snapshot, const std::function<void(const EventView&)>& take) {
  DecodeCounts counts;
  std::vector<FieldValue> values;
  for (const ChunkCopy* chunk : by_age(snapshot)) {
    ChunkView view = chunk->view;
    view.table = &snapshot.table;
    view.asked_from_ticks = snapshot.window.begin_ticks;
    RecordWalk walk(view);
    DetailRecord record;
    while (walk.next(record)) {
      if (record.ticks < snapshot.window.begin_ticks || record.ticks > snapshot.window.end_ticks) continue;
      const Tracepoint* tracepoint = snapshot.table.find(record.kind);
      if (tracepoint == nullptr) {
        ++counts.unknown_tracepoints;
        continue;
      }
      if (!decode_payload(*tracepoint, record.payload, record.long_form, values)) ++counts.malformed_payloads;
      take({record.ticks, record.tid, tracepoint, values, record.spans, record.spans_certain});
    }
    add(counts.walk, walk.counts());
  }
  return counts;
}

std::string to_text(const EventView& event) {
  std::string out;
  append_escaped(out, event.tracepoint->name);
  for (const FieldValue& value : event.values) {
    out += ' ';
    append_escaped(out, value.field->key);
    out += '=';
    append_value(out, value);
  }
  return out;
}

}  // namespace fathom::agent
