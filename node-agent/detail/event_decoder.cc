#include "node-agent/detail/event_decoder.h"

#include <charconv>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/utf8.h"

namespace fathom::agent {

namespace {

using pool::FieldType;

// The values of a payload, one behind the other, without padding.
template <typename Number>
Number take(ByteReader& reader) {
  Number number{};
  std::string_view bytes = reader.raw(sizeof number);
  if (!bytes.empty()) std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

void take_text(ByteReader& reader, FieldValue& value) {
  uint32_t size = take<uint16_t>(reader);
  value.cut = (size & pool::kCutBit) != 0;
  // A text has at most what a record holds; the bit is one of those that sizes never need.
  value.text = reader.raw(size & (pool::kCutBit - 1));
}

void take_value(ByteReader& reader, FieldValue& value) {
  switch (value.field->type) {
    case FieldType::kInt8:
      value.integer = take<int8_t>(reader);  // NOLINT(bugprone-signed-char-misuse): to keep its sign is the point
      return;
    case FieldType::kInt16:
      value.integer = take<int16_t>(reader);
      return;
    case FieldType::kInt32:
      value.integer = take<int32_t>(reader);
      return;
    case FieldType::kInt64:
      value.integer = take<int64_t>(reader);
      return;
    case FieldType::kUint8:
    case FieldType::kBool:
      value.natural = take<uint8_t>(reader);
      return;
    case FieldType::kUint16:
      value.natural = take<uint16_t>(reader);
      return;
    case FieldType::kUint32:
      value.natural = take<uint32_t>(reader);
      return;
    case FieldType::kUint64:
      value.natural = take<uint64_t>(reader);
      return;
    case FieldType::kFloat:
      value.real = static_cast<double>(take<float>(reader));
      return;
    case FieldType::kDouble:
      value.real = take<double>(reader);
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

}  // namespace

bool decode_payload(const Tracepoint& tracepoint, std::string_view payload, bool exact,
                    std::vector<FieldValue>& values) {
  values.clear();
  ByteReader reader(payload);
  for (const TracepointField& field : tracepoint.fields) {
    FieldValue value{.field = &field};
    take_value(reader, value);
    if (reader.failed()) return false;
    values.push_back(value);
  }
  return !exact || reader.at_end();
}

DecodeCounts decode(const DetailSnapshot& snapshot, const std::function<void(const EventView&)>& take) {
  DecodeCounts counts;
  std::vector<FieldValue> values;
  for (const ChunkCopy& chunk : snapshot.chunks) {
    ChunkView view = chunk.view;
    view.table = &snapshot.table;
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
