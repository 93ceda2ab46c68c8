#include "store/block/shared_table.h"

#include <algorithm>

namespace fathom::store::block {

namespace {

void write_value(ByteWriter& out, const ValueView& value) {
  out.u8(static_cast<uint8_t>(value.type));
  if (value.is_text()) {
    out.string(value.text);
  } else if (value.type != ValueType::kEmpty) {
    out.varint(value.type == ValueType::kInt ? zigzag(value.as_int()) : value.bits);
  }
}

ValueView read_value(ByteReader& in) {
  ValueView value;
  value.type = static_cast<ValueType>(in.u8());
  if (value.type > ValueType::kCut) in.fail();
  if (value.is_text()) {
    value.text = in.string();
  } else if (value.type != ValueType::kEmpty) {
    uint64_t bits = in.varint();
    value.bits = value.type == ValueType::kInt ? static_cast<uint64_t>(unzigzag(bits)) : bits;
  }
  return value;
}

std::string record_bytes(const ScopeView& scope) {
  std::string bytes;
  ByteWriter out(bytes);
  out.string(scope.name);
  out.string(scope.version);
  out.string(scope.schema_url);
  out.varint(scope.dropped_attributes_count);
  out.varint(scope.attributes.size());
  for (const AttributeView& attribute : scope.attributes) {
    out.string(attribute.key);
    write_value(out, attribute.value);
  }
  return bytes;
}

ScopeView as_record(const ResourceView& resource) {
  ScopeView record;
  record.attributes = resource.attributes;
  record.schema_url = resource.schema_url;
  record.dropped_attributes_count = resource.dropped_attributes_count;
  return record;
}

}  // namespace

const SharedTable::BatchRecords& SharedTable::records_of(const Batch& batch) {
  if (&batch == last_batch_) return *last_records_;
  auto [at, is_new] = batches_.try_emplace(&batch);
  if (is_new) {
    bool ignored = false;
    for (size_t i = 0; i < batch.resource_count(); ++i) at->second.resources.push_back(intern(batch.resource(i)));
    for (size_t i = 0; i < batch.scope_count(); ++i) {
      at->second.scopes.push_back(intern(record_bytes(batch.scope(i)), ignored));
    }
  }
  last_batch_ = &batch;
  last_records_ = &at->second;
  return at->second;
}

uint32_t SharedTable::intern(std::string record, bool& is_new) {
  auto [at, inserted] = numbers_.try_emplace(std::move(record), size());
  is_new = inserted;
  if (inserted) {
    order_.push_back(&at->first);
    is_resource_.push_back(false);
  }
  return at->second;
}

uint32_t SharedTable::intern(const ResourceView& resource) {
  bool is_new = false;
  uint32_t number = intern(record_bytes(as_record(resource)), is_new);
  // A record may have been a scope before.
  if (!is_resource_[number]) resources_.push_back(resource);
  is_resource_[number] = true;
  return number;
}

std::vector<uint32_t> SharedTable::write_pages(Packer& packer, std::vector<Chunk>& chunks) const {
  std::vector<uint32_t> first;
  std::string page;
  for (uint32_t i = 0; i < size(); ++i) {
    if (page.empty()) first.push_back(i);
    page += *order_[i];
    if (page.size() < kSharedPageBytes && i + 1 < size()) continue;
    std::string body;
    packer.blob(body, page);
    chunks.push_back({kSegmentWide, static_cast<uint32_t>(first.size() - 1), seal_chunk(body)});
    page.clear();
  }
  return first;
}

Result<std::shared_ptr<const SharedPage>> SharedPage::parse(const ChunkBody& body, uint32_t records) {
  ChunkReader in(body);
  Stream stream;
  std::string_view text;
  auto page = std::make_shared<SharedPage>();
  if (!read_blob(in, stream) || !unpack(in, stream, page->text_, text)) return damaged("shared records");
  if (text.data() != page->text_.data()) {
    if (!in.take(text.size())) return damaged("shared records");
    page->text_ = text;
  }
  ChunkReader from({page->text_, body.memory});
  if (!page->read(from) || page->size() != records) return damaged("shared records");
  return std::shared_ptr<const SharedPage>(std::move(page));
}

// How many records and attributes the text has, so that their memory is charged and taken once.
bool SharedPage::reserve(ChunkReader in) {
  size_t records = 0, attributes = 0;
  for (; !in.at_end() && !in.failed() && attributes <= kMaxEntries && records <= kMaxEntries; ++records) {
    for (int text = 0; text < 3; ++text) in.string();
    in.varint32();
    uint64_t count = in.varint();
    attributes += count;
    if (count > in.remaining()) in.fail();
    for (uint64_t i = 0; i < count && !in.failed(); ++i) {
      in.string();
      read_value(in);
    }
  }
  if (in.failed() || attributes > kMaxEntries || records > kMaxEntries) return false;
  using Slice = std::pair<size_t, size_t>;
  if (!in.take(records * (sizeof(ScopeView) + sizeof(Slice)) + attributes * sizeof(AttributeView))) return false;
  records_.reserve(records);
  attributes_.reserve(attributes);
  return true;
}

bool SharedPage::read(ChunkReader& in) {
  if (!reserve(in)) return false;
  std::vector<std::pair<size_t, size_t>> slices;
  slices.reserve(records_.capacity());
  while (!in.at_end() && !in.failed()) {
    ScopeView record;
    record.name = in.string();
    record.version = in.string();
    record.schema_url = in.string();
    record.dropped_attributes_count = in.varint32();
    uint64_t count = in.varint();
    slices.emplace_back(attributes_.size(), count);
    for (uint64_t i = 0; i < count && !in.failed(); ++i) {
      std::string_view key = in.string();
      attributes_.push_back({key, read_value(in)});
    }
    records_.push_back(record);
  }
  if (in.failed()) return false;
  for (size_t i = 0; i < records_.size(); ++i) {
    records_[i].attributes = std::span<const AttributeView>(attributes_).subspan(slices[i].first, slices[i].second);
  }
  return true;
}

}  // namespace fathom::store::block
