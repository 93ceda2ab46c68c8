#include "store/index/latency_cell.h"

#include "base/bytes.h"

namespace fathom::store {
namespace {

constexpr uint8_t kLatencyCellVersion = 1;

}  // namespace

void LatencyCell::merge(const LatencyCell& other) {
  durations.merge(other.durations);
  // The count saturates; errors are never more, so they do the same.
  errors = other.errors > durations.count() - errors ? durations.count() : errors + other.errors;
}

void LatencyCell::encode(std::string& out) const {
  ByteWriter writer(out);
  writer.u8(kLatencyCellVersion);
  writer.varint(errors);
  durations.encode(out);
}

Result<LatencyCell> LatencyCell::decode(std::string_view in) {
  ByteReader reader(in);
  if (reader.u8() != kLatencyCellVersion) return corrupt("latency cell: a version that this program does not know");
  LatencyCell cell;
  cell.errors = reader.varint();
  if (reader.failed()) return corrupt("latency cell: cut short");
  std::string_view rest = in.substr(in.size() - reader.remaining());
  Result<Histogram> durations = Histogram::decode(rest);
  if (!durations.ok()) return durations.error();
  if (!rest.empty()) return corrupt("latency cell: bytes after its end");
  if (cell.errors > durations->count()) return corrupt("latency cell: more errors than spans");
  cell.durations = *std::move(durations);
  return cell;
}

}  // namespace fathom::store
