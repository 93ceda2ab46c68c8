#include "store/rocks/grown.h"

#include <algorithm>

#include "base/bytes.h"

namespace fathom::store {

namespace {

constexpr uint8_t kVersion = 2;
constexpr uint8_t kWithoutPlaces = 1;

bool by_id(const GrownTrace& a, const GrownTrace& b) {
  return a.id < b.id;
}

void write_place(ByteWriter& out, const OlderPlace& place) {
  out.varint(place.partition);
  out.varint(place.segment);
  out.varint(place.rows.block);
  out.varint(place.rows.first_row);
  out.varint(place.rows.row_count);
}

OlderPlace read_place(ByteReader& in) {
  OlderPlace place;
  place.partition = in.varint32();
  place.segment = in.varint32();
  place.rows.block = in.varint32();
  place.rows.first_row = in.varint32();
  place.rows.row_count = in.varint32();
  return place;
}

std::vector<OlderPlace> read_places(ByteReader& in) {
  std::vector<OlderPlace> places;
  for (uint64_t left = in.varint(); left > 0 && !in.failed(); --left) places.push_back(read_place(in));
  return places;
}

Error damaged_list() {
  return corrupt("a list of grown traces is damaged");
}

}  // namespace

void GrownTraces::add(const TraceId& id, const TraceSummary& summary, std::span<const OlderPlace> places) {
  traces_.push_back({id, summary, static_cast<uint32_t>(places_.size()), static_cast<uint32_t>(places.size())});
  places_.insert(places_.end(), places.begin(), places.end());
}

const GrownTrace* GrownTraces::find(const TraceId& id) const {
  auto found = std::lower_bound(traces_.begin(), traces_.end(), id,
                                [](const GrownTrace& known, const TraceId& wanted) { return known.id < wanted; });
  return found != traces_.end() && found->id == id ? &*found : nullptr;
}

std::string GrownTraces::encode() const {
  std::string value;
  ByteWriter out(value);
  out.u8(kVersion);
  out.varint(traces_.size());
  for (const GrownTrace& trace : traces_) {
    out.raw(trace.id.view());
    encode_summary(trace.summary, value);
    out.varint(trace.place_count);
    for (const OlderPlace& place : places(trace)) write_place(out, place);
  }
  return value;
}

Result<GrownTraces> GrownTraces::decode(std::string_view value) {
  ByteReader in(value);
  uint8_t version = in.u8();
  if (version != kVersion && version != kWithoutPlaces) {
    return corrupt("a list of grown traces has an unknown form");
  }
  GrownTraces grown;
  grown.places_known_ = version == kVersion;
  for (uint64_t left = in.varint(); left > 0 && !in.failed(); --left) {
    std::optional<TraceId> id = TraceId::from_bytes(in.raw(sizeof(TraceId::bytes)));
    Result<TraceSummary> summary = decode_summary(in);
    if (!id || !summary) return damaged_list();
    grown.add(*id, *summary, grown.places_known_ ? read_places(in) : std::vector<OlderPlace>());
  }
  bool sorted = std::is_sorted(grown.traces_.begin(), grown.traces_.end(), by_id);
  if (in.failed() || !in.at_end() || !sorted) return damaged_list();
  return grown;
}

}  // namespace fathom::store
