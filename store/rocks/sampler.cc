#include "store/rocks/sampler.h"

#include <algorithm>

namespace fathom::store {

namespace {

constexpr size_t kSpread = 32;  // a sample comes from so many places, if there are as many

}  // namespace

Sampler::Sampler(Engine& engine, const Filter& filter, const SampleLimits& limits, const VisitSpan& visit,
                 QueryBudget& budget)
    : limits_(limits),
      visit_(visit),
      budget_(budget),
      catalogue_(engine.catalogue),
      view_(engine.views.get()),
      sealed_(engine.sealed(), view_, budget),
      meant_(filter, engine.catalogue) {}

Result<SampleCount> Sampler::run() {
  Result<std::vector<SamplePlace>> places = sample_places(sealed_, meant_);
  if (!places) return places.error();
  size_t spread = std::max<size_t>(1, std::min(kSpread, places->size()));
  shown_per_place_ = (limits_.shown + spread - 1) / spread;
  for (const SamplePlace& place : *places) {
    Result<> looked = look_at(place);
    if (!looked && looked.error().code != ErrorCode::kNotFound) return looked.error();
  }
  count_.estimated = not_scanned_ > 0;
  uint64_t found = found_;
  if (not_scanned_ > 0 && scanned_ > 0) {
    double part = static_cast<double>(scanned_) / static_cast<double>(scanned_ + not_scanned_);
    found = static_cast<uint64_t>(static_cast<double>(found_) / part);
  }
  count_.spans = known_ + found;
  return count_;
}

Result<> Sampler::look_at(const SamplePlace& place) {
  return place.segment != nullptr ? look_at_block(place) : look_at_memory(place);
}

void Sampler::count(uint64_t rows, uint64_t matches) {
  scanned_ += rows;
  found_ += matches;
}

// How many of a place's matches are shown.
size_t Sampler::wanted(size_t matches) const {
  return std::min({matches, shown_per_place_, static_cast<size_t>(limits_.shown - count_.shown)});
}

bool Sampler::has_scanned_enough() const {
  bool shows_more = count_.shown < limits_.shown && blocks_decoded_ < limits_.blocks;
  return scanned_ >= (shows_more ? limits_.scanned : std::min(limits_.scanned, limits_.counted));
}

Result<> Sampler::look_at_block(const SamplePlace& place) {
  Result<SegmentReader*> reader = sealed_.segment(*place.segment);
  if (!reader) return reader.error();
  if (meant_.all_match((*reader)->directory().zone(place.block))) {
    known_ += place.rows;
    return wanted(place.rows) == 0 ? Result<>() : show_block(**reader, place.block, all_rows(place.rows));
  }
  if (has_scanned_enough()) {
    not_scanned_ += place.rows;
    return {};
  }
  Result<MatchedRows> matched = meant_.of_block(**reader, place.block);
  if (!matched) return matched.error();
  count(place.rows, matched->rows.size());
  return wanted(matched->rows.size()) == 0 ? Result<>() : show_block(**reader, place.block, matched->rows);
}

Result<> Sampler::show_block(SegmentReader& reader, uint32_t block, const std::vector<uint32_t>& rows) {
  if (blocks_decoded_ == limits_.blocks) return {};
  ++blocks_decoded_;
  uint32_t first = rows.front();
  Result<StoredRows> decoded = reader.rows(block, first, rows.back() - first + 1);
  if (!decoded) return decoded.error();
  each_evenly(rows.size(), wanted(rows.size()), [&](size_t i) {
    const StoredRow& row = decoded->rows[rows[i] - first];
    const OperationKey& key = operation(row.operation);
    visit_({row.span, row.resource, row.scope, key.service_namespace, key.service, key.operation, row.clock, false});
    ++count_.shown;
  });
  return {};
}

Result<> Sampler::look_at_memory(const SamplePlace& place) {
  if (Result<> alive = budget_.check(); !alive) return alive;
  auto lock = place.generation->read();
  std::vector<uint32_t> rows;
  for (uint32_t i = place.block; i < place.block + place.rows; ++i) {
    if (meant_.matches(*place.generation, place.generation->rows()[i])) rows.push_back(i);
  }
  count(place.rows, rows.size());
  show_memory(*place.generation, rows);
  return {};
}

void Sampler::show_memory(const Generation& generation, const std::vector<uint32_t>& rows) {
  Batch::Scratch scratch;
  each_evenly(rows.size(), wanted(rows.size()), [&](size_t i) {
    const Generation::Row& row = generation.rows()[rows[i]];
    const Batch& batch = generation.batch(row);
    const Batch::Row& stored = generation.stored(row);
    const OperationKey& key = operation(row.operation);
    visit_({batch.span(stored, scratch), batch.resource(stored.resource), batch.scope(stored.scope),
            key.service_namespace, key.service, key.operation, batch.clock(), false});
    ++count_.shown;
  });
}

const OperationKey& Sampler::operation(uint32_t id) {
  std::unique_ptr<const OperationKey>& met = operations_[id];
  if (!met) met = std::make_unique<const OperationKey>(catalogue_.operation(id));
  return *met;
}

}  // namespace fathom::store
