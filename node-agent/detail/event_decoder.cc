#include "node-agent/detail/event_decoder.h"

#include <algorithm>
#include <charconv>

#include "base/ids.h"
#include "base/utf8.h"
#include "node-agent/detail/payload.h"

namespace fathom::agent {

namespace {

using pool::FieldType;

// Gathers values behind one another, each with its field.
class FieldValues {
 public:
  FieldValues(const Tracepoint& tracepoint, std::vector<FieldValue>& values)
      : field_(tracepoint.fields.data()), values_(values) {
    values_.clear();
  }
  void integer(int64_t value) { next().integer = value; }
  void natural(uint64_t value) { next().natural = value; }
  void real(double value) { next().real = value; }
  void truth(bool value) { next().natural = value ? 1 : 0; }
  void text(std::string_view bytes, bool cut) {
    FieldValue& value = next();
    value.text = bytes;
    value.cut = cut;
  }

 private:
  FieldValue& next() {
    FieldValue& value = values_.emplace_back();
    value.field = field_++;
    return value;
  }

  const TracepointField* field_;
  std::vector<FieldValue>& values_;
};

// ---- text -----------------------------------------------------------------------------------------------------------

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

std::vector<const ChunkCopy*> by_age(const DetailSnapshot& snapshot) {
  std::vector<const ChunkCopy*> chunks;
  chunks.reserve(snapshot.chunks.size());
  for (const ChunkCopy& chunk : snapshot.chunks) chunks.push_back(&chunk);
  std::ranges::stable_sort(chunks, {}, [](const ChunkCopy* chunk) { return chunk->view.first_ticks; });
  return chunks;
}

void add(WalkCounts& sum, const WalkCounts& counts) {
  sum.records += counts.records;
  sum.holes += counts.holes;
  sum.hole_bytes += counts.hole_bytes;
  sum.unknown_records += counts.unknown_records;
  sum.malformed_records += counts.malformed_records;
  sum.dropped_spans += counts.dropped_spans;
}

bool decode_payload(const Tracepoint& tracepoint, std::string_view payload, bool exact,
                    std::vector<FieldValue>& values) {
  FieldValues visitor(tracepoint, values);
  return read_payload(tracepoint, payload, exact, visitor);
}

DecodeCounts decode(const DetailSnapshot& snapshot, const std::function<void(const EventView&)>& take) {
  std::vector<FieldValue> values;
  return walk_events(snapshot, [&](const DetailRecord& record, const Tracepoint& tracepoint) {
    bool fits = decode_payload(tracepoint, record.payload, record.long_form, values);
    take({record.ticks, record.tid, &tracepoint, values, record.spans, record.spans_certain});
    return fits;
  });
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
