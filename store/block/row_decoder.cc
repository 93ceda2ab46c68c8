#include "store/block/row_decoder.h"

#include <algorithm>
#include <numeric>

#include "store/block/columns.h"
#include "store/block/detail_chunks.h"

namespace fathom::store::block {

namespace {

// What the rows' views point into.
struct Owner {
  HeldMemory memory;              // of all below
  SegmentDirectoryPtr directory;  // names of keys with columns
  std::vector<ChunkBytes> chunks;
  Arena arena;
  DecodedDetails details;
  std::deque<ValueTable> tables;
  DecodedEvents events;
  DecodedLinks links;
  std::vector<std::shared_ptr<const SharedPage>> pages;
  std::vector<AttributeView> attributes, event_attributes, link_attributes;
  std::vector<EventView> event_views;
  std::vector<LinkView> link_views;
};

// One column's values for the rows wanted.
struct WantedColumn {
  uint32_t number = kNone;
  uint64_t before = 0;  // entries of rows before the first one wanted
  uint64_t wanted = 0;  // entries of the rows wanted
  uint64_t total = 0;
  std::vector<ValueView> values;
  std::vector<uint32_t> codes;
  uint64_t next = 0;
};

uint64_t sum_before(const std::vector<uint32_t>& counts, size_t end) {
  return std::accumulate(counts.begin(), counts.begin() + static_cast<ptrdiff_t>(end), uint64_t{0});
}

class RowDecoder {
 public:
  RowDecoder(BlockCache& cache, uint32_t first, uint32_t count)
      : cache_(cache), first_(first), count_(count), owner_(std::make_shared<Owner>()) {
    owner_->directory = cache.directory();
    owner_->memory = cache.hold();
    out_.memory = cache.hold();
  }

  Result<StoredRows> decode() {
    for (auto step : {&RowDecoder::fixed_parts, &RowDecoder::details, &RowDecoder::shared, &RowDecoder::attributes,
                      &RowDecoder::events, &RowDecoder::links}) {
      if (Result<> done = (this->*step)(); !done) return done.error();
    }
    out_.owner = owner_;
    return std::move(out_);
  }

 private:
  Result<LoadedChunk> keep(uint32_t column) {
    Result<LoadedChunk> chunk = cache_.load(column);
    if (chunk) owner_->chunks.push_back(chunk->chunk);
    return chunk;
  }

  ChunkBody paid(const LoadedChunk& chunk) { return {chunk.body, &owner_->memory}; }
  Error failure(std::string_view what) const { return decode_error(owner_->memory, what); }

  Result<> fixed_parts() {
    Result<const DecodedTraces*> traces = cache_.traces();
    if (!traces) return traces.error();
    Result<const LoadedChunk*> times_chunk = cache_.times_chunk();
    if (!times_chunk) return times_chunk.error();
    Result<LoadedChunk> ids_chunk = cache_.load(kIdsColumn);
    if (!ids_chunk) return ids_chunk.error();
    DecodedTimes times;
    BlockIds ids;
    HeldMemory& memory = cache_.call_memory();
    if (!decode_times({(*times_chunk)->body, &memory}, cache_.zone(), **traces, times)) {
      return decode_error(memory, "times");
    }
    if (!decode_ids({ids_chunk->body, &memory}, cache_.zone(), **traces, ids)) return decode_error(memory, "ids");
    if (Result<> held = out_.memory.grow(count_ * sizeof(StoredRow)); !held) return held;
    out_.rows.resize(count_);
    for (uint32_t i = 0; i < count_; ++i) fixed_part(times, ids, first_ + i, out_.rows[i]);
    trace_ids(**traces);
    return {};
  }

  void fixed_part(const DecodedTimes& times, const BlockIds& ids, uint32_t row, StoredRow& out) {
    out.span.span_id = ids.span[row];
    out.span.parent_span_id = ids.parent[row];
    out.span.start_unix_nano = times.sent_unix_nano[row];
    out.span.end_unix_nano = times.sent_unix_nano[row] + times.length_nano[row];
    out.span.status = static_cast<StatusCode>(times.status[row]);
    out.clock = times.clocks[times.clock[row]];
    out.sequence = times.sequence[row];
    out.operation = cache_.zone().operations[times.operation_index[row]];
    out.conflicting = times.conflicting[row];
  }

  void trace_ids(const DecodedTraces& traces) {
    for (const BlockTrace& trace : traces.traces) {
      uint32_t begin = std::max(trace.first_row, first_);
      uint32_t end = std::min(trace.first_row + trace.row_count, first_ + count_);
      for (uint32_t row = begin; row < end; ++row) out_.rows[row - first_].span.trace_id = trace.id;
    }
  }

  Result<> details() {
    Result<const std::vector<uint32_t>*> operations = cache_.operation_index();
    if (!operations) return operations.error();
    Result<LoadedChunk> chunk = keep(kDetailsColumn);
    if (!chunk) return chunk.error();
    DecodedDetails& d = owner_->details;
    if (!decode_details(paid(*chunk), cache_.zone(), **operations, owner_->arena, d)) return failure("details");
    for (uint32_t i = 0; i < count_; ++i) {
      SpanView& span = out_.rows[i].span;
      uint32_t row = first_ + i;
      span.name = d.names[d.name[row]].text;
      span.kind = static_cast<SpanKind>(d.kind[row]);
      span.flags = d.flags[row];
      span.dropped_attributes_count = d.dropped_attributes[row];
      span.dropped_events_count = d.dropped_events[row];
      span.dropped_links_count = d.dropped_links[row];
      span.status_message = d.messages.at(row).text;
      span.trace_state = d.trace_states.at(row).text;
    }
    return {};
  }

  Result<> shared() {
    Result<const std::vector<uint32_t>*> resources = cache_.resources();
    if (!resources) return resources.error();
    for (uint32_t i = 0; i < count_; ++i) {
      auto resource = record((**resources)[first_ + i]);
      if (!resource) return resource.error();
      StoredRow& row = out_.rows[i];
      row.resource.attributes = (*resource)->attributes;
      row.resource.schema_url = (*resource)->schema_url;
      row.resource.dropped_attributes_count = (*resource)->dropped_attributes_count;
      auto scope = record(owner_->details.scope[first_ + i]);
      if (!scope) return scope.error();
      row.scope = **scope;
    }
    return {};
  }

  Result<const ScopeView*> record(uint32_t number) {
    auto found = cache_.shared_record(number);
    if (!found) return found.error();
    auto& [page, index] = *found;
    std::vector<std::shared_ptr<const SharedPage>>& pages = owner_->pages;
    if (std::find(pages.begin(), pages.end(), page) == pages.end()) pages.push_back(page);
    return &page->record(index);
  }

  Result<> attributes() {
    Result<const DecodedShapes*> decoded = cache_.shapes();
    if (!decoded) return decoded.error();
    const DecodedShapes& shapes = **decoded;
    count_entries(shapes);
    for (WantedColumn& column : columns_) {
      if (column.wanted == 0) continue;
      if (Result<> loaded = load(column); !loaded) return loaded;
    }
    if (Result<> held = pay_for_attributes(shapes); !held) return held;
    name_keys(shapes);
    fill_attributes(shapes);
    return {};
  }

  // Finds out which columns the rows need, and from which entry on.
  void count_entries(const DecodedShapes& shapes) {
    std::vector<uint64_t> before(shapes.shapes.size()), wanted(shapes.shapes.size()), total(shapes.shapes.size());
    for (uint32_t row = 0; row < shapes.row_shape.size(); ++row) {
      uint32_t shape = shapes.row_shape[row];
      ++total[shape];
      if (row < first_) ++before[shape];
      if (row >= first_ && row < first_ + count_) ++wanted[shape];
    }
    std::map<uint32_t, uint32_t> by_number;
    for (const DecodedShapes::Key& key : shapes.keys) {
      auto [at, is_new] = by_number.try_emplace(key.number, static_cast<uint32_t>(columns_.size()));
      if (is_new) columns_.push_back({key.number});
      column_of_key_.push_back(at->second);
    }
    for (size_t s = 0; s < shapes.shapes.size(); ++s) {
      for (uint32_t key : shapes.shapes[s]) {
        WantedColumn& column = columns_[column_of_key_[key]];
        column.before += before[s];
        column.wanted += wanted[s];
        column.total += total[s];
      }
    }
  }

  Result<> load(WantedColumn& column) {
    Result<LoadedChunk> chunk = keep(column.number == kNone ? kRestColumn : kFirstKeyColumn + column.number);
    if (!chunk) return chunk.error();
    ChunkReader in(paid(*chunk));
    ColumnReader reader;
    bool read = reader.read(in) && reader.read_codes(in, column.codes) && in.at_end();
    if (!read || column.codes.size() != column.total) return failure("column");
    if (!in.take(reader.values().size())) return failure("column");
    std::vector<uint8_t> needed(reader.values().size(), 0);
    for (uint64_t i = 0; i < column.wanted; ++i) needed[column.codes[column.before + i]] = 1;
    if (!in.take(reader.values().view_bytes(needed))) return failure("column");
    owner_->tables.push_back(reader.take_values());
    column.values = owner_->tables.back().views(owner_->arena, needed);
    column.next = column.before;
    return {};
  }

  Result<> pay_for_attributes(const DecodedShapes& shapes) {
    uint64_t names = 0, all = 0;
    for (const DecodedShapes::Key& key : shapes.keys) names += sizeof(std::string) + key.name.size();
    for (uint32_t i = 0; i < count_; ++i) all += shapes.shapes[shapes.row_shape[first_ + i]].size();
    if (Result<> held = owner_->memory.grow(names + all * sizeof(AttributeView)); !held) return held;
    owner_->attributes.reserve(all);
    return {};
  }

  void name_keys(const DecodedShapes& shapes) {
    for (const DecodedShapes::Key& key : shapes.keys) {
      bool own = key.number < cache_.parts().own_keys;
      key_names_.push_back(own ? std::string_view(cache_.parts().keys[key.number].name)
                               : std::string_view(owner_->arena.emplace_back(key.name)));
    }
  }

  void fill_attributes(const DecodedShapes& shapes) {
    std::vector<AttributeView>& all = owner_->attributes;
    std::vector<size_t> ends;
    for (uint32_t i = 0; i < count_; ++i) {
      for (uint32_t key : shapes.shapes[shapes.row_shape[first_ + i]]) {
        WantedColumn& column = columns_[column_of_key_[key]];
        all.push_back({key_names_[key], column.values[column.codes[column.next++]]});
      }
      ends.push_back(all.size());
    }
    size_t begin = 0;
    for (uint32_t i = 0; i < count_; ++i) {
      out_.rows[i].span.attributes = std::span<const AttributeView>(all).subspan(begin, ends[i] - begin);
      begin = ends[i];
    }
  }

  // The memory of `count` lists of `lists` from `first` on, and of as many views that hold them.
  template <typename View>
  Result<> pay_for_lists(const DecodedLists& lists, uint64_t first, uint64_t count, std::vector<View>& views,
                         std::vector<AttributeView>& attributes) {
    uint64_t entries = 0;
    for (uint64_t list = first; list < first + count; ++list) entries += lists.counts[list];
    uint64_t bytes = count * (sizeof(View) + sizeof(size_t)) + entries * sizeof(AttributeView);
    if (Result<> held = owner_->memory.grow(bytes); !held) return held;
    views.reserve(count);
    attributes.reserve(entries);
    return {};
  }

  // The attribute lists [first, first + count) of events or links, appended to `out`; ends, per list, in `ends`.
  static void fill_lists(const DecodedLists& lists, uint64_t first, uint64_t count, std::vector<AttributeView>& out,
                         std::vector<size_t>& ends) {
    uint64_t entry = sum_before(lists.counts, first);
    for (uint64_t list = first; list < first + count; ++list) {
      for (uint32_t i = 0; i < lists.counts[list]; ++i, ++entry) {
        out.push_back({lists.keys.at(entry).text, lists.values.at(entry)});
      }
      ends.push_back(out.size());
    }
  }

  Result<> events() {
    if (!cache_.zone().events) return {};
    Result<LoadedChunk> chunk = keep(kEventsColumn);
    if (!chunk) return chunk.error();
    DecodedEvents& events = owner_->events;
    if (!decode_events(paid(*chunk), cache_.zone(), owner_->arena, events)) return failure("events");
    uint64_t begin = sum_before(events.counts, first_);
    uint64_t count = sum_before(events.counts, first_ + count_) - begin;
    Result<> held = pay_for_lists(events.attributes, begin, count, owner_->event_views, owner_->event_attributes);
    if (!held) return held;
    std::vector<size_t> ends;
    ends.reserve(count);
    fill_lists(events.attributes, begin, count, owner_->event_attributes, ends);
    std::vector<EventView>& views = owner_->event_views;
    size_t from = 0;
    for (uint64_t i = 0; i < count; ++i) {
      EventView view;
      view.time_unix_nano = static_cast<uint64_t>(unzigzag(events.times[begin + i]));
      view.name = events.names.at(begin + i).text;
      view.dropped_attributes_count = events.dropped[begin + i];
      view.attributes = std::span<const AttributeView>(owner_->event_attributes).subspan(from, ends[i] - from);
      from = ends[i];
      views.push_back(view);
    }
    size_t next = 0;
    for (uint32_t i = 0; i < count_; ++i) {
      SpanView& span = out_.rows[i].span;
      std::span<EventView> own = std::span(views).subspan(next, events.counts[first_ + i]);
      for (EventView& event : own) event.time_unix_nano += span.start_unix_nano;
      span.events = own;
      next += own.size();
    }
    return {};
  }

  Result<> links() {
    if (!cache_.zone().links) return {};
    Result<LoadedChunk> chunk = keep(kLinksColumn);
    if (!chunk) return chunk.error();
    DecodedLinks& links = owner_->links;
    if (!decode_links(paid(*chunk), cache_.zone(), owner_->arena, links)) return failure("links");
    uint64_t begin = sum_before(links.counts, first_);
    uint64_t count = sum_before(links.counts, first_ + count_) - begin;
    Result<> held = pay_for_lists(links.attributes, begin, count, owner_->link_views, owner_->link_attributes);
    if (!held) return held;
    std::vector<size_t> ends;
    ends.reserve(count);
    fill_lists(links.attributes, begin, count, owner_->link_attributes, ends);
    size_t from = 0;
    for (uint64_t i = 0; i < count; ++i) {
      LinkView view;
      view.trace_id = *TraceId::from_bytes(links.ids.substr(24 * (begin + i), 16));
      view.span_id = *SpanId::from_bytes(links.ids.substr(24 * (begin + i) + 16, 8));
      view.trace_state = links.trace_states.at(begin + i).text;
      view.flags = links.flags[begin + i];
      view.dropped_attributes_count = links.dropped[begin + i];
      view.attributes = std::span<const AttributeView>(owner_->link_attributes).subspan(from, ends[i] - from);
      from = ends[i];
      owner_->link_views.push_back(view);
    }
    size_t next = 0;
    for (uint32_t i = 0; i < count_; ++i) {
      uint32_t own = links.counts[first_ + i];
      out_.rows[i].span.links = std::span<const LinkView>(owner_->link_views).subspan(next, own);
      next += own;
    }
    return {};
  }

  BlockCache& cache_;
  const uint32_t first_;
  const uint32_t count_;
  std::shared_ptr<Owner> owner_;
  StoredRows out_;
  std::vector<WantedColumn> columns_;
  std::vector<uint32_t> column_of_key_;
  std::vector<std::string_view> key_names_;
};

}  // namespace

Result<StoredRows> decode_rows(BlockCache& cache, uint32_t first_row, uint32_t row_count) {
  uint64_t end = uint64_t{first_row} + row_count;
  if (end > cache.zone().rows) return corrupt("a block has fewer rows than were asked for");
  return RowDecoder(cache, first_row, row_count).decode();
}

}  // namespace fathom::store::block
